import { expect, test } from "bun:test";
import { htmlToText } from "@/tools/html-text.ts";

const text = (html: string): Promise<string> => htmlToText(html, "https://h.test/a/b");

test.each([
  ["headings and paragraphs", "<title>T</title><h1>A</h1><p>one\n two</p><p>three</p>", "T\n\n# A\n\none two\n\nthree"],
  ["nested inline elements, once", "<p>a <b>b <i>c</i></b> d</p>", "a b c d"],
  ["lists", "<ul><li>a</li><li>b <em>c</em></li></ul>", "- a\n- b c"],
  [
    "links become absolute",
    '<a href="../x?y=1&amp;z">x</a> <a href="#top">top</a> <a href="javascript:alert(1)">js</a>',
    "[x](https://h.test/x?y=1&z) top js",
  ],
  ["links without text", 'a<a href="/x"> </a>b', "a b"],
  [
    "code keeps its spaces",
    "<p>see</p><pre><code>if x:\n    y  z\n</code></pre><p>end</p>",
    "see\n\n```\nif x:\n    y  z\n\n```\n\nend",
  ],
  [
    "what is no content",
    "<script>evil()</script><style>b{}</style><nav>menu</nav><svg><text>s</text></svg><p>a</p><noscript>n</noscript>",
    "a",
  ],
  ["entities", "<p>&lt;b&gt; &amp;amp; &#65;&#x1F600; &nbsp;&euro; &unknown; &#0;</p>", "<b> &amp; A😀  € &unknown;"],
  ["tables", "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>", "a b\n 1 2"],
  ["void and unclosed elements", "<p>a<br>b<img src=x><p>c", "a\nb\n\nc"],
  ["plain text", "just text", "just text"],
  ["nothing", "", ""],
])("%s", async (_, html, expected) => expect(await text(html)).toBe(expected));

test.each([
  ["spaces", "<pre>", " ", "</pre>"],
  ["brackets", "<p>", "[](", "</p>"],
  ["ampersands", "<p>", "&", "</p>"],
  ["an endless entity", "<p>&", "a", "</p>"],
  ["open links", "", "<a href=x>", ""],
  ["open elements", "", "<div>", ""],
  ["open tags", "", "<", ""],
])("a page made of %s takes no longer than its length", async (_, before, piece, after) => {
  expect((await text(before + piece.repeat(300_000) + after)).length).toBeLessThan(12_000_000);
});
