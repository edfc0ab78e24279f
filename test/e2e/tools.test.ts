// Shell and edit tools as the compiled binary runs them: bounded memory, right text, no hang, and bytes outside a change
// that stay what they were.

import { describe, expect, test } from "bun:test";
import { lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtBinary, childEnv, tempHome } from "../support/binary.ts";
import { startModelServer } from "../support/model-server.ts";
import { peakMemory } from "../support/peak-memory.ts";
import { callTools, headless } from "../support/protocols.ts";

const MB = 1024 * 1024;

const bash = (command: string, more: object = {}) => ({ id: "a", name: "Bash", args: { command, ...more } });

describe("Bash", () => {
  test("100 MB of output stay out of memory", async () => {
    using home = tempHome();
    const command = "head -c 104857600 /dev/zero | tr '\\0' x";
    await using server = await startModelServer([{ toolCalls: [bash(command)] }, { text: "done" }]);
    const { args, env } = headless(server.url, ["--yolo", "go"]);
    const peak = await peakMemory([await builtBinary(), ...args], { cwd: home.workdir, env: childEnv(home, env) });
    expect(peak.exitCode).toBe(0);
    expect(server.requests[1]!.toolResults[0]!.text.length).toBeLessThan(100_000);
    expect(peak.bytes).toBeLessThan(200 * MB);
  });

  test("a background child that keeps the output open does not hold the call", async () => {
    const { results, durationMs } = await callTools([bash("sleep 600 & echo started")]);
    expect(results[0]).toContain("started");
    expect(durationMs).toBeLessThan(20_000);
  });

  test("binary output is text the model can read", async () => {
    const { results, exitCode } = await callTools([bash("head -c 3000 /dev/urandom; echo; echo the end")]);
    expect(results[0]).toContain("the end");
    expect(exitCode).toBe(0);
  });

  test("characters that arrive in two pieces stay whole", async () => {
    const { results } = await callTools([
      bash("printf 'gr\\303'; sleep 0.3; printf '\\274\\303\\237e \\360\\237'; sleep 0.3; printf '\\247\\252\\n'"),
    ]);
    expect(results[0]).toContain("grüße 🧪");
  });

  test.each(['read line; echo "got:$line"', "cat; echo ended", "sh -i </dev/tty; echo ended"])(
    "%s does not wait for a person",
    async (command) => {
      const { results, durationMs } = await callTools([bash(command)]);
      expect(results[0]).toMatch(/got:|ended/);
      expect(durationMs).toBeLessThan(20_000);
    },
  );

  test("a timeout ends the command and says so", async () => {
    const { results, durationMs } = await callTools([bash("echo before; sleep 600", { timeout: 1000 })]);
    expect(results[0]).toContain("before");
    expect(results[0]).toMatch(/tim(ed )?\s?out/i);
    expect(durationMs).toBeLessThan(20_000);
  });

  test("keys do not reach the commands", async () => {
    const { results } = await callTools([bash("env")], {
      env: { ANTHROPIC_API_KEY: "sk-very-secret", OPENAI_API_KEY: "sk-too" },
    });
    expect(results[0]).not.toContain("sk-very-secret");
    expect(results[0]).not.toContain("sk-too");
  });
});

describe("Edit", () => {
  const BOM = "\uFEFF";
  test.each([
    ["CRLF", "one\r\ntwo\r\nthree\r\n", "two", "2", "one\r\n2\r\nthree\r\n"],
    ["CRLF, several lines", "one\r\ntwo\r\nthree\r\n", "one\ntwo", "1\n2", "1\r\n2\r\nthree\r\n"],
    ["mixed endings", "one\r\ntwo\nthree\r\n", "two", "2", "one\r\n2\nthree\r\n"],
    ["a BOM", `${BOM}one\ntwo\n`, "one", "1", `${BOM}1\ntwo\n`],
    ["no newline at the end", "one\ntwo", "two", "2", "one\n2"],
    ["characters of replacement patterns", "price\n", "price", "$& $1 $$", "$& $1 $$\n"],
  ])("%s", async (_, before, old_string, new_string, after) => {
    using home = tempHome();
    const file = join(home.workdir, "file.txt");
    writeFileSync(file, before);
    const { exitCode } = await callTools(
      [
        { id: "a", name: "Read", args: { file_path: file } },
        { id: "b", name: "Edit", args: { file_path: file, old_string, new_string } },
      ],
      { home },
    );
    expect(readFileSync(file, "utf8")).toBe(after);
    expect(exitCode).toBe(0);
  });

  test.each([
    ["a string that is there twice", "same\nsame\n", "same", /2|twice|unique|multiple/i],
    ["a string that is not there", "one\n", "absent", /not found|does not|no match/i],
  ])("%s is refused with a reason", async (_, before, old_string, reason) => {
    using home = tempHome();
    const file = join(home.workdir, "file.txt");
    writeFileSync(file, before);
    const { results } = await callTools(
      [
        { id: "a", name: "Read", args: { file_path: file } },
        { id: "b", name: "Edit", args: { file_path: file, old_string, new_string: "x" } },
      ],
      { home },
    );
    expect(results[1]).toMatch(reason);
    expect(readFileSync(file, "utf8")).toBe(before);
  });
});

test("edits of one file under two names wait for each other", async () => {
  using home = tempHome();
  const words = Array.from({ length: 20 }, (_, n) => `word-${n}.`);
  writeFileSync(join(home.workdir, "file.txt"), words.join("\n"));
  symlinkSync("file.txt", join(home.workdir, "alias.txt"));
  const { results } = await callTools(
    words.map((word, n) => ({
      id: `c${n}`,
      name: "Edit",
      args: { file_path: n % 2 ? "alias.txt" : "file.txt", old_string: word, new_string: `new ${word}` },
    })),
    { home },
  );
  expect(results.filter((text) => !text.includes("Replaced 1 occurrence"))).toEqual([]);
  expect(readFileSync(join(home.workdir, "file.txt"), "utf8")).toBe(words.map((word) => `new ${word}`).join("\n"));
  expect(lstatSync(join(home.workdir, "alias.txt")).isSymbolicLink()).toBe(true);
});

test("Grep finds with the ripgrep the binary carries, also where there is none on PATH", async () => {
  using home = tempHome();
  writeFileSync(join(home.workdir, "a.ts"), "const needle = 1;\n");
  const { results } = await callTools(
    [{ id: "a", name: "Grep", args: { pattern: "needle", output_mode: "content" } }],
    {
      home,
      env: { PATH: "/nonexistent" },
    },
  );
  expect(results[0]).toContain("const needle = 1;");
});

test("WebFetch does not reach this machine, whatever the mode, and a rule for a domain binds it", async () => {
  await using inside = await startModelServer([]);
  const { port } = new URL(inside.url);
  const fetchOf = (id: string, url: string) => ({ id, name: "WebFetch", args: { url } });
  const { results } = await callTools(
    [
      fetchOf("a", `http://127.0.0.1:${port}/x`),
      fetchOf("b", `http://localhost:${port}/x`),
      fetchOf("c", `http://[::ffff:127.0.0.1]:${port}/x`),
      fetchOf("d", "http://169.254.169.254/latest/meta-data/"),
      fetchOf("e", "https://evil.example/x"),
    ],
    { args: ["--yolo", "--disallowedTools", "WebFetch(domain:evil.example)"] },
  );
  for (const result of results.slice(0, 4)) expect(result).toContain("is not on the public internet");
  expect(results[4]).toContain("Permission denied by rule: WebFetch(domain:evil.example)");
  expect(inside.requests).toEqual([]);
});
