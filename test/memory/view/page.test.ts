import { describe, expect, test } from "bun:test";
import { type MemoryView, renderMemoryPage } from "@/memory/view/page.ts";

const HOSTILE = `</script></pre><script>alert(1)</script><img src=x onerror=alert(1)> "'& \u202egpj.exe\0`;

function view(over: Partial<MemoryView> = {}): MemoryView {
  return {
    agent: { id: "agent-1", name: "Ada" },
    createdAt: "2026-05-04T10:20:30.000Z",
    head: "0123456789abcdef0123456789abcdef01234567",
    context: [],
    contextWindow: null,
    files: [],
    commits: [],
    hasMoreCommits: false,
    ...over,
  };
}

function file(path: string, text: string | null): MemoryView["files"][number] {
  return { path, text, bytes: text?.length ?? 2_000_000, tokens: 1234, description: "" };
}

function commit(over: Partial<MemoryView["commits"][number]> = {}): MemoryView["commits"][number] {
  const plain = { oid: "a".repeat(40), at: "2026-05-04T10:20:30+02:00", author: "Ada", message: "note it\n" };
  return { ...plain, paths: ["system/human.md"], isReflection: false, diff: null, ...over };
}

/** Markup of one element, from its id to its end. */
function element(page: string, id: string): string {
  return page.match(new RegExp(`<(\\w+)[^>]* ?id="${id}"[^>]*>[\\s\\S]*?</\\1>`))?.[0] ?? "";
}

describe("memory page", () => {
  test("what others wrote is text everywhere it appears", () => {
    const page = renderMemoryPage(
      view({
        agent: { id: HOSTILE, name: HOSTILE },
        head: HOSTILE,
        createdAt: HOSTILE,
        files: [{ ...file(`system/${HOSTILE}.md`, `---\n${HOSTILE}\n---\n${HOSTILE}`), description: HOSTILE }],
        commits: [
          commit({ oid: HOSTILE, at: HOSTILE, author: HOSTILE, message: `${HOSTILE}\n\n${HOSTILE}`, paths: [HOSTILE] }),
          commit({ diff: `diff --git a b\n@@ -1 +1 @@\n+${HOSTILE}`, noDiff: HOSTILE }),
        ],
      }),
    );
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page.match(/<img/g)).toBeNull();
    expect(page).not.toMatch(/[\0\u202e]/);
    expect(page).toContain("&#60;img src=x onerror=alert(1)&#62; &#34;&#39;&#38; \\u202egpj.exe\\x00");
  });

  test("only the page's own script may run", () => {
    const page = renderMemoryPage(view());
    const script = page.match(/<script>([\s\S]*)<\/script>/)?.[1] ?? "";
    const hash = new Bun.CryptoHasher("sha256").update(script).digest("base64");
    expect(page).toContain(`default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'`);
    expect(page).not.toMatch(/\b(?:https?:)?\/\/\w|url\(|@import/);
  });

  test("core files are open, others closed, and links lead to files that are there", () => {
    const page = renderMemoryPage(
      view({
        files: [
          file("system/human.md", "---\r\ndescription: who\r\n---\r\nsee [[notes/a b]] and [[nowhere]]\r\n"),
          file("notes/a b.md", "x"),
          file("big.bin", null),
        ],
      }),
    );
    expect(element(page, "f-system.2f.human.2e.md")).toMatch(/^<details id="[^"]*" open>/);
    expect(element(page, "f-system.2f.human.2e.md")).toContain(
      `<span class="head">---\ndescription: who\n---\n</span>see <a href="#f-notes.2f.a.20.b.2e.md">[[notes/a b]]</a> and [[nowhere]]\n`,
    );
    expect(element(page, "f-notes.2f.a.20.b.2e.md")).toMatch(/^<details id="[^"]*">/);
    expect(element(page, "f-big.2e.bin")).toContain("2,000,000 bytes");
    expect(element(page, "f-big.2e.bin")).toContain("Not shown");
    expect(page).toContain("Core memory (1)");
    expect(page).toContain("External memory (2)");
  });

  test("a diff's header is told from its lines", () => {
    const diff =
      "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- was a rule\n+++ is a rule\n same\ndiff --git a/y b/y\n--- a/y\n";
    expect(renderMemoryPage(view({ commits: [commit({ diff })] }))).toContain(
      [
        `<pre class="diff"><span class="file">diff --git a/x b/x</span>`,
        `<span class="at">--- a/x</span><span class="at">+++ b/x</span><span class="at">@@ -1,2 +1,2 @@</span>`,
        `<span class="remove">--- was a rule</span><span class="add">+++ is a rule</span><span class=""> same</span>`,
        `<span class="file">diff --git a/y b/y</span><span class="at">--- a/y</span></pre>`,
      ].join(""),
    );
  });

  test("commits say who, when, what, and how to see what was left out", () => {
    const page = renderMemoryPage(
      view({
        commits: [commit({ paths: ["a", "b", "c", "d"], isReflection: true, noDiff: "Over 100 KB." })],
        hasMoreCommits: true,
      }),
    );
    const shown = element(page, `c-${"a".repeat(40)}`);
    expect(shown).toContain(`note it<span class="chip">reflection</span>`);
    expect(shown).toContain(`2026-05-04 10:20 · Ada · <span class="oid">aaaaaaa</span> · a, b, c, …`);
    expect(shown).toContain("Over 100 KB. <code>letta memory show aaaaaaa</code>");
    expect(page).toContain("<code>letta memory log</code>");
  });

  test("the context grid shares 200 cells, whatever the numbers", () => {
    const cells = (page: string, kind: string) => page.match(new RegExp(`<i class="${kind}">`, "g"))?.length ?? 0;
    const shares = [
      { kind: "system" as const, tokens: 25_000 },
      { kind: "messages" as const, tokens: 50_000 },
    ];
    const half = renderMemoryPage(view({ context: shares, contextWindow: 100_000 }));
    expect([cells(half, "system"), cells(half, "messages")]).toEqual([50, 100]);
    expect(half).toContain(`Free</td><td class="n">25,000</td><td class="n dim">25.0 %</td>`);
    const over = renderMemoryPage(view({ context: shares, contextWindow: 1000 }));
    expect(cells(over, "system") + cells(over, "messages")).toBe(200);
    expect(renderMemoryPage(view())).toContain("No request has been sent yet.");
    expect(renderMemoryPage(view({ context: [{ kind: "core", tokens: 0 }] }))).not.toContain("NaN");
  });
});
