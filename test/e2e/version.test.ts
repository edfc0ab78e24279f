import { expect, test } from "bun:test";
import pkg from "../../package.json" with { type: "json" };
import { runLetta } from "../support/binary.ts";

test.each([["--version"], ["-v"], ["version"]])("letta %s prints the version line", async (word) => {
  const { stdout, stderr, exitCode } = await runLetta([word]);
  expect({ stdout, stderr, exitCode }).toEqual({ stdout: `${pkg.version} (letta)\n`, stderr: "", exitCode: 0 });
});
