import { describe, expect, test } from "bun:test";
import { createRedactor } from "@/lib/redactor.ts";

const VALUE = 'p@ss/"w0rd"+ü&x y';
const redactor = createRedactor([{ name: "DB_PASS", value: VALUE }]);
const base64 = (text: string) => Buffer.from(text).toString("base64");

test.each([
  ["as it is", VALUE],
  ["in JSON", JSON.stringify(VALUE).slice(1, -1)],
  ["in JSON inside JSON", JSON.stringify(JSON.stringify(VALUE)).slice(3, -3)],
  ["in a URL", encodeURIComponent(VALUE)],
  ["in a URL, small hex digits", encodeURIComponent(VALUE).replace(/%../g, (code) => code.toLowerCase())],
  ["in a form", new URLSearchParams({ a: VALUE }).toString().slice(2)],
  ["in base64", base64(VALUE)],
  ["in base64 behind a user name of any length", base64(`user:${VALUE}`)],
  ["", base64(`users:${VALUE}`)],
  ["", base64(`usersx:${VALUE}:more`)],
  ["in URL-safe base64", Buffer.from(VALUE).toString("base64url")],
  ["in hex", Buffer.from(VALUE).toString("hex")],
  ["in base64 that is broken into lines", base64(`some ${VALUE} more`).replace(/.{4}/g, "$&\n")],
  ["in base64 with indented lines", base64(VALUE).replace(/.{10}/g, "$&\r\n    ")],
  ["in base64 with breaks, in JSON", JSON.stringify(base64(VALUE).replace(/.{10}/g, "$&\n")).slice(1, -1)],
  ["in hex that is broken into lines", Buffer.from(VALUE).toString("hex").replace(/.{7}/g, "$&\n")],
  ["in JSON of Python", JSON.stringify(VALUE).slice(1, -1).replace("ü", "\\u00fc")],
  ["in JSON of .NET", JSON.stringify(VALUE).slice(1, -1).replace("ü", "\\u00FC").replace("&", "\\u0026")],
  ["in JSON of Go", JSON.stringify(VALUE).slice(1, -1).replace("&", "\\u0026")],
  ["in JSON of PHP", JSON.stringify(VALUE).slice(1, -1).replace("/", "\\/").replace("ü", "\\u00fc")],
  ["in JSON of Python inside JSON", JSON.stringify(JSON.stringify(VALUE).replace("ü", "\\u00fc")).slice(3, -3)],
  ["in HTML", VALUE.replace("&", "&amp;").replace('"', "&quot;").replace('"', "&quot;")],
  ["in a shell's words", VALUE.replace(/["& ]/g, "\\$&")],
])("a value %s", (_, text) => {
  const shown = redactor.redact(`before ${text} after`);
  expect(shown).toContain("DB_PASS=<REDACTED>");
  expect(shown).toStartWith("before ");
  expect(shown).toEndWith(" after");
  // What is left of base64 around it gives nothing away.
  expect(shown.length).toBeLessThan("before DB_PASS=<REDACTED> after".length + 24);
});

test("the longest value first; a short one is not looked for", () => {
  const two = createRedactor([
    { name: "A", value: "secret" },
    { name: "B", value: "secret-longer" },
    { name: "C", value: "abc" },
  ]);
  expect(two.redact("secret-longer secret abc")).toBe("B=<REDACTED> A=<REDACTED> abc");
});

test("lines of a value are found alone, as a file viewer shows them", () => {
  const pem = "-----BEGIN X-----\nMIIEvgIBADANBgkqhkiG\nshort\n-----END X-----";
  const shown = createRedactor([{ name: "KEY", value: pem }]).redact("  2→MIIEvgIBADANBgkqhkiG\n  3→short");
  expect(shown).toBe("  2→KEY=<REDACTED>\n  3→short");
});

describe("in pieces", () => {
  const secrets = [
    { name: "A", value: "ABCDEFGH" },
    { name: "B", value: "EFGHIJKLMNOP" },
    { name: "C", value: "aaaaaab" },
  ];
  const known = createRedactor(secrets);
  const texts = [
    "x ABCDEFGH y",
    "ABCDEFGHIJKLMNOP",
    "EFGHIJKLMNOPABCDEFGH",
    "ABCDEFG",
    "aaaaaaaaaaaaab",
    "ABCDEFGHABCDEFGHEFGHIJ",
  ];

  test.each(texts)("%s, cut anywhere, reads as in one piece", (text) => {
    for (let size = 1; size <= text.length; size++) {
      const stream = known.stream();
      let shown = "";
      for (let at = 0; at < text.length; at += size) shown += stream.push(text.slice(at, at + size));
      shown += stream.finish();
      for (const { value } of secrets) expect(shown).not.toContain(value);
      expect(shown).toBe(known.redact(text));
    }
  });

  const LONG = `${VALUE}${"0123456789".repeat(20)}`;
  const wrap = (text: string, width: number, gap: string) => text.replace(new RegExp(`.{${width}}`, "g"), `$&${gap}`);
  test.each([
    ["lines", wrap(base64(`user:${LONG}`), 60, "\n")],
    ["indented lines", wrap(base64(LONG), 64, "\r\n      ")],
    ["lines in JSON", JSON.stringify(wrap(base64(`u:${LONG}`), 76, "\n"))],
    ["hex lines", wrap(Buffer.from(LONG).toString("hex"), 60, "\n")],
  ])("a long value in %s, cut anywhere, leaves nothing that says something", (_, text) => {
    const redactor = createRedactor([{ name: "LONG", value: LONG }]);
    const whole = `some text\nkey: ${text}\nmore`;
    for (let size = 1; size <= whole.length; size++) {
      const stream = redactor.stream();
      let shown = "";
      for (let at = 0; at < whole.length; at += size) shown += stream.push(whole.slice(at, at + size));
      shown += stream.finish();
      expect(shown).toContain("LONG=<REDACTED>");
      // Three characters before a break may have gone out, and what base64 shares with the bytes beside it.
      expect(shown.length).toBeLessThan("some text\nkey: LONG=<REDACTED>\nmore".length + 24);
      expect([shown.slice(0, 15), shown.slice(-5)]).toEqual(["some text\nkey: ", "\nmore"]);
    }
  });

  test("a line that ends like a value begins is passed on", () => {
    const stream = createRedactor([{ name: "A", value: VALUE }]).stream();
    const line = `a line that ends in ${base64(VALUE).slice(0, 3)}\n`;
    expect(stream.push(line)).toBe(line);
    // And nothing but these three goes out when it was one.
    expect(stream.push(`${base64(VALUE).slice(3)}\n`) + stream.finish()).toBe("A=<REDACTED>\n");
  });

  test("what cannot begin a value is passed on at once", () => {
    const stream = known.stream();
    expect(stream.push("hello ABC")).toBe("hello ");
    expect(stream.push("x")).toBe("ABCx");
  });
});

describe("shapes", () => {
  const shapes = createRedactor([], { patterns: true });
  test.each([
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "<REDACTED private key>"],
    ["-----BEGIN OPENSSH PRIVATE KEY-----\ncut off", "<REDACTED private key>"],
    [`ghp_${"a1".repeat(18)}`, "<REDACTED GitHub token>"],
    [["sk", "ant", "aB3_".repeat(8)].join("-"), "<REDACTED API key>"],
    ["AKIAIOSFODNN7EXAMPLE", "<REDACTED AWS key id>"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w", "<REDACTED JWT>"],
  ])("%s", (text, shown) => {
    expect(shapes.redact(`a ${text} `).trim()).toBe(`a ${shown}`);
    expect(createRedactor([]).redact(text)).toBe(text);
  });

  test.each(["sk-loading-spinner-container-element", "AKIA is a prefix", "task-1234", "-----BEGIN PUBLIC KEY-----"])(
    "%s is no secret",
    (text) => expect(shapes.redact(text)).toBe(text),
  );

  test("a hostile text takes no longer than its length", () => {
    const startedAt = performance.now();
    for (const piece of ["-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaaaaaaaa.", "sk-aaaaaaaaaa", "eyJ"]) {
      shapes.redact(piece.repeat(2_000));
    }
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});
