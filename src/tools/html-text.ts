// A web page as text a model reads: headings, lists, links and code keep a light Markdown form, everything that is not
// content is left out.

const DROPPED = "script, style, noscript, template, svg, iframe, object, nav";
const BLOCKS =
  "p, div, section, article, header, footer, main, aside, table, tr, ul, ol, dl, dt, dd, figure, blockquote, address, form, fieldset, details, summary, hr, h1, h2, h3, h4, h5, h6, pre, li, br, title";

/** `base` is what relative links are relative to. */
export async function htmlToText(html: string, base: string): Promise<string> {
  const out = new TextSink();
  let skipped = 0;
  let preformatted = 0;
  const depth = (count: (by: number) => void) => ({
    element(element: HTMLRewriterTypes.Element) {
      if (element.selfClosing || !element.canHaveContent) return;
      count(1);
      element.onEndTag(() => count(-1));
    },
  });
  const rewriter = new HTMLRewriter()
    .on(
      DROPPED,
      depth((by) => {
        skipped += by;
      }),
    )
    .on(
      "pre",
      depth((by) => {
        preformatted += by;
      }),
    )
    .on(BLOCKS, {
      element(element) {
        const name = element.tagName.toLowerCase();
        if (skipped > 0) return;
        out.breakLine(/^(?:p|h[1-6]|pre|table|blockquote|ul|ol|title)$/.test(name) ? 2 : 1);
        if (name === "li") out.raw("- ");
        else if (/^h[1-6]$/.test(name)) out.raw(`${"#".repeat(Number(name[1]))} `);
        else if (name === "pre") out.raw("```\n");
        if (!element.canHaveContent || element.selfClosing) return;
        element.onEndTag(() => {
          if (skipped > 0) return;
          if (name === "pre") out.raw("\n```");
          out.breakLine(/^(?:p|h[1-6]|pre|title)$/.test(name) ? 2 : 1);
        });
      },
    })
    .on("td, th", { element: () => void (skipped === 0 && out.raw(" ")) })
    .on("a[href]", {
      element(element) {
        const url = toLink(element.getAttribute("href") ?? "", base);
        if (skipped > 0 || url === null || !element.canHaveContent) return;
        const link = out.openLink();
        element.onEndTag(() => out.closeLink(link, url));
      },
    })
    .onDocument({
      text(chunk) {
        if (skipped === 0) out.text(chunk.text, preformatted > 0);
      },
    });
  await rewriter.transform(new Response(html)).text();
  return out.finish();
}

/** Collects text: white space collapses, except in preformatted text. */
class TextSink {
  #parts: string[] = [];
  #ended = true;
  #breaks = 0;
  /** Pieces of text that were not only white space. */
  #filled = 0;

  raw(text: string): void {
    if (this.#breaks > 0 && this.#parts.length > 0) this.#parts.push("\n".repeat(this.#breaks));
    this.#breaks = 0;
    this.#parts.push(text);
    this.#ended = /\s$/.test(text);
  }

  text(text: string, preformatted: boolean): void {
    const collapsed = preformatted ? text : text.replace(/\s+/g, " ");
    const shown = preformatted || !(this.#ended || this.#breaks > 0) ? collapsed : collapsed.replace(/^ /, "");
    if (shown.trim() !== "") this.#filled++;
    if (shown !== "") this.raw(shown);
  }

  openLink(): { at: number; filled: number } {
    this.raw("[");
    return { at: this.#parts.length - 1, filled: this.#filled };
  }

  /** A link around nothing to read is left out. */
  closeLink({ at, filled }: { at: number; filled: number }, url: string): void {
    if (this.#filled > filled) this.raw(`](${url})`);
    else this.#parts[at] = "";
  }

  breakLine(count: number): void {
    this.#breaks = Math.max(this.#breaks, count);
  }

  finish(): string {
    // Entities are resolved last: before, `&lt;b&gt;` would look like a tag of ours.
    return decodeEntities(this.#parts.join(""))
      .split("\n")
      .map((line) => line.trimEnd())
      .join("\n")
      .replace(/\n{3,}/g, "\n\n")
      .trim();
  }
}

/** Absolute; null for what cannot be fetched (scripts, anchors). */
function toLink(href: string, base: string): string | null {
  if (href.startsWith("#") || !URL.canParse(href, base)) return null;
  const url = new URL(href, base);
  return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
}

const ENTITIES: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  copy: "©",
  reg: "®",
  trade: "™",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  laquo: "«",
  raquo: "»",
  bull: "•",
  middot: "·",
  times: "×",
  rarr: "→",
  larr: "←",
  euro: "€",
};

function decodeEntities(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]{2,10}));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    const control = code < 32 && code !== 9 && code !== 10;
    return control || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? "" : String.fromCodePoint(code);
  });
}
