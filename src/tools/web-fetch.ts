// Reads a page of the public web.

import * as v from "valibot";
import { plural } from "@/lib/text.ts";
import { VERSION } from "@/version.ts";
import { defineTool, type ToolContext, type ToolResult } from "./define-tool.ts";
import { type FetchedPage, fetchPage, parseFetchUrl } from "./fetch-page.ts";
import { SHELL_OUTPUT_CHARS } from "./limits.ts";
import { overflowPath, truncateOutput } from "./output.ts";
import { escapeControls } from "./paths.ts";
import description from "./web-fetch.md" with { type: "text" };

export const webFetchTool = defineTool({
  name: "WebFetch",
  toolsets: {
    default: "WebFetch",
    codex: "WebFetch",
    codex_snake: "web_fetch",
    gemini: "WebFetch",
    gemini_snake: "web_fetch",
  },
  description,
  args: v.strictObject({ url: v.string(), prompt: v.optional(v.string()) }),
  targets: ({ url }) => [{ kind: "url", url: parseFetchUrl(url).href }],
  resource: () => ({ kind: "read" }),
  title: ({ url }) => escapeControls(url),
  run: async ({ url }, context) => {
    const result = await fetchPage(parseFetchUrl(url), { signal: context.signal, userAgent: `letta/${VERSION}` });
    if (result.kind === "elsewhere") {
      const output = `${url} redirects to another address: ${result.url}\nFetch that address if you want to follow.`;
      return { status: "success", output, summary: `redirects to ${new URL(result.url).host}` };
    }
    return describe(result.page, context);
  },
});

async function describe(page: FetchedPage, { services, cwd }: ToolContext): Promise<ToolResult> {
  const { htmlToText } = await import("./html-text.ts");
  const html = page.type === "text/html" || page.type === "application/xhtml+xml";
  const text = html ? await htmlToText(page.text, page.url) : page.text;
  const head = `URL: ${page.url}\nStatus: ${page.status}\nType: ${page.type}\n\n`;
  const file = overflowPath(services, cwd, "WebFetch");
  const body = truncateOutput(text, { maxChars: SHELL_OUTPUT_CHARS - 1_000, ...(file !== undefined && { file }) });
  const failed = page.status >= 400;
  return {
    status: failed ? "error" : "success",
    output: head + (body.trim() === "" ? "(The page has no text.)" : body),
    summary: failed ? `HTTP ${page.status}` : plural(text.length, "character"),
  };
}
