import { expect, test } from "bun:test";
import { explainFailure, findSetupFailure } from "@/sandbox/report.ts";
import { policyOf } from "./policy-world.ts";

const ROOTS = "allowed roots: /home/ann/app, /var/private; network: off; outside_sandbox asks for more";

test.each([
  ["bash: /etc/x: Read-only file system", "write"],
  ["bash: line 1: /etc/x: Permission denied", "write"],
  ["touch: cannot touch 'out': Permission denied", "write"],
  ["Error: EROFS: read-only file system, open '/usr/x'", "write"],
  ["mv: cannot move '.git' to 'x': Device or resource busy", "write"],
  ["mkdir: cannot create directory '.letta': File exists", "write"],
  ["bash: .mcp.json: Is a directory", "write"],
  ["cat: /home/ann/.ssh/config: Permission denied", "read"],
  ["cat: /home/ann/.letta/agents/a/memory.md: No such file or directory", "read"],
  ["curl: (6) Could not resolve host: example.com", "network"],
  ["npm error code EAI_AGAIN", "network"],
  ["bash: socket: Permission denied", "network"],
  ['File "socket.py", line 232\nPermissionError: [Errno 13] Permission denied', "network"],
])("%s: %s", (output, what) => {
  const line = `[sandbox:workspace] likely blocked ${what}; ${ROOTS}`;
  expect(explainFailure({ exitCode: 1, output }, policyOf())).toBe(line);
});

test.each([
  [7, "", "curl -s http://localhost:3000 >/dev/null"],
  [4, "", "wget -q example.com"],
  [255, "", "ssh -q host true"],
  [1, "OSError: [Errno 101] Netzwerk ist nicht erreichbar", ""],
  [0, "bash: connect: Network is unreachable", "echo x > /dev/udp/1.2.3.4/53 || true"],
  [0, "curl: (6) Hôte introuvable", "curl example.com || true"],
])("exit %i, %p of %s: network", (exitCode, output, command) => {
  expect(explainFailure({ exitCode, output, command }, policyOf())).toContain("likely blocked network;");
});

test.each([
  ["touch: cannot touch '/usr/x': Read-only file system", "write"],
  ["cat: /home/ann/.ssh/config: Permission denied", "read"],
])("exit 0, %s: %s", (output, what) => {
  expect(explainFailure({ exitCode: 0, output }, policyOf())).toContain(`likely blocked ${what};`);
});

test("a server that is not there may be one outside", () => {
  const line = explainFailure({ exitCode: 1, output: "connect ECONNREFUSED 127.0.0.1:5432" }, policyOf());
  expect(line).toContain("may have blocked network (servers outside are out of reach, also those of this machine);");
});

test.each([
  [0, "ok 12 reports that connection refused is retried", ""],
  [0, "docs: a read-only file system says EROFS", ""],
  [0, "getaddrinfo is mocked", ""],
  [6, "", "./curly-test"],
  [1, "3 tests failed: expected 1 to be 2", ""],
  [1, "cat: missing.txt: No such file or directory", ""],
  [128, "fatal: not a git repository (or any of the parent directories): .git", ""],
  [0, "grep: /root: Permission denied", ""],
])("exit %i, %s: not the sandbox", (exitCode, output, command) => {
  expect(explainFailure({ exitCode, output, command }, policyOf())).toBeNull();
});

test.each([
  [1, "bwrap: setting up uid map: Permission denied\n", "setting up uid map: Permission denied"],
  [125, "sandbox setup failed: landlock failed (error 38)\n", "landlock failed (error 38)"],
  [0, "bwrap: is a program", null],
  [1, "it printed bwrap: in the middle", null],
])("exit %i, %s", (exitCode, output, reason) => expect(findSetupFailure({ exitCode, output })).toBe(reason));
