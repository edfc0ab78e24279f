import { expect, test } from "bun:test";
import { outputFormat, parseCount, present, requireConsent } from "@/commands/output.ts";
import { LettaError } from "@/lib/errors.ts";
import { recordingIo } from "./support.ts";

test.each([
  // terminal, what pipes get, flags, format
  [true, "json", {}, "text"],
  [false, "json", {}, "json"],
  [false, "text", {}, "text"],
  [true, "json", { format: "json" }, "json"],
  [false, "json", { format: "text" }, "text"],
  [true, "text", { json: true }, "envelope"],
  [false, "json", { json: true, format: "json" }, "envelope"],
] as const)("terminal %p, piped %s, %j: %s", (isTty, piped, args, format) =>
  expect(outputFormat(recordingIo({ isTty }), args, piped)).toBe(format),
);

test("an envelope carries any value, also nothing", async () => {
  const io = recordingIo();
  await present(io, { json: true }, () => undefined, { text: () => "" });
  expect(io.out).toBe('{\n  "ok": true,\n  "data": null\n}\n');
});

test("a bug is reported as one, without a stack", async () => {
  const io = recordingIo();
  const work = () => {
    throw new TypeError("x is not a function");
  };
  expect(await present(io, { json: true }, work, { text: () => "" })).toBe(1);
  expect(JSON.parse(io.out)).toEqual({ ok: false, error: { code: "internal", message: "x is not a function" } });
  expect(io.err).toBe("Error: x is not a function\n");
});

test("the exit code may depend on the data, in every format", async () => {
  const presentation = { text: () => "", exitCode: () => 2 };
  expect(await present(recordingIo(), {}, () => 1, presentation)).toBe(2);
  expect(await present(recordingIo(), { json: true }, () => 1, presentation)).toBe(2);
});

test.each([
  [undefined, 20],
  ["7", 7],
  ["007", 7],
])("a count of %p is %p", (text, value) => expect(parseCount("limit", text, 20)).toBe(value));

test.each(["0", "-1", "1.5", "1e3", "", " 5", "99999999999999999999"])("a count of %j is refused", (text) => {
  expect(() => parseCount("limit", text, 20)).toThrow(LettaError);
});

test("consent: --yes, or a person who says yes", async () => {
  await requireConsent(recordingIo(), { yes: true }, "Really?");
  await requireConsent(recordingIo({ answer: true }), {}, "Really?");
  const refused = await requireConsent(recordingIo({ answer: false }), {}, "Really?").catch(
    (error: LettaError) => error,
  );
  expect((refused as LettaError).code).toBe("cancelled");
  const alone = await requireConsent(recordingIo(), {}, "Really?").catch((error: LettaError) => error);
  expect((alone as LettaError).hint).toBe("Pass --yes to do it anyway.");
});
