import { expect, test } from "bun:test";
import { formatDiff } from "@/memory/diff-text.ts";
import { tempDir } from "../support/binary.ts";
import { filesOf, git, hasGit } from "../support/git-repos.ts";

const file = (text: string, mode: "100644" | "100755" = "100644") => ({ content: Buffer.from(text), mode });

test("what git prints: new, changed, gone, mode, binary, odd names", () => {
  const diff = formatDiff([
    { path: "new.md", before: null, after: file("a\n") },
    { path: "gone.md", before: file("a\n"), after: null },
    { path: "run.sh", before: file("x\n"), after: file("x\n", "100755") },
    { path: "data.bin", before: file("a\0b"), after: file("c\0d") },
    { path: 'odd"\n.md', before: file("a"), after: file("b\n") },
  ]);
  expect(diff).toBe(`diff --git a/new.md b/new.md
new file mode 100644
--- /dev/null
+++ b/new.md
@@ -0,0 +1,1 @@
+a
diff --git a/gone.md b/gone.md
deleted file mode 100644
--- a/gone.md
+++ /dev/null
@@ -1,1 +0,0 @@
-a
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/data.bin b/data.bin
Binary files a/data.bin and b/data.bin differ
diff --git "a/odd\\"\\n.md" "b/odd\\"\\n.md"
--- "a/odd\\"\\n.md"
+++ "b/odd\\"\\n.md"
@@ -1,1 +1,1 @@
-a
\\ No newline at end of file
+b
`);
});

test.skipIf(!hasGit)("git applies it", async () => {
  using folder = tempDir("letta-diff-");
  const pairs = [
    { path: "a b/ü.md", before: null, after: file("one\ntwo") },
    { path: "x.md", before: file("1\n2\n3\n4\n5\n6\n7\n8\n"), after: file("1\n2\n3\nfour\n5\n6\n7\n8\n9") },
    { path: "gone.md", before: file("bye\r\n"), after: null },
  ];
  for (const { path, before } of pairs) if (before) await Bun.write(`${folder.path}/${path}`, before.content);
  git(folder.path, ["init", "-q"]);
  git(folder.path, ["apply"], { input: formatDiff(pairs) });
  expect(await filesOf(folder.path)).toEqual({ "a b/ü.md": "one\ntwo", "x.md": "1\n2\n3\nfour\n5\n6\n7\n8\n9" });
});
