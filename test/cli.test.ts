import { expect, test } from "bun:test";
import { rewriteAliases, takeBackend } from "@/cli.ts";

test.each([
  [
    ["upgrade", "x"],
    ["update", "x"],
  ],
  [["--update"], ["update"]],
  [
    ["-p", "upgrade"],
    ["-p", "upgrade"],
  ],
])("%j", (argv, expected) => expect(rewriteAliases(argv)).toEqual(expected));

test.each([
  [["agents", "list", "--backend", "local"], { backend: "local", rest: ["agents", "list"] }],
  [["--backend=cloud", "-p", "x"], { backend: "api", rest: ["-p", "x"] }],
  [["-p", "--", "--backend", "x"], { rest: ["-p", "--", "--backend", "x"] }],
  [["script", "x.ts", "--backend"], { rest: ["script", "x.ts", "--backend"] }],
] as const)("%j", (argv, expected) => expect(takeBackend([...argv])).toEqual(expected as never));

test.each([
  [["--backend"], "--backend must be api or local"],
  [["--backend", "moon"], '--backend must be api or local, not "moon"'],
])("%j is refused", (argv, message) => expect(() => takeBackend(argv)).toThrow(message));
