import { expect, test } from "bun:test";
import { download, withDownload } from "@/skills/install/download.ts";
import { type Route, startSkillHost } from "../../support/skill-host.ts";

const limits = { maxBytes: 1_000_000, stallMs: 20_000 };

async function fetched(route: Route, options: Partial<Parameters<typeof download>[1]> = {}) {
  await using host = await startSkillHost();
  host.routes.set("/x", route);
  host.routes.set("/y", { body: "found" });
  const { bytes, type } = await download(`${host.url}/x`, { ...limits, ...options });
  return { text: Buffer.from(bytes).toString(), type };
}

test("an answer, and one that has moved on the same host", async () => {
  expect(await fetched({ body: "hello", type: "text/Markdown; charset=utf-8" })).toEqual({
    text: "hello",
    type: "text/markdown",
  });
  expect(await fetched({ location: "/y" })).toEqual({ text: "found", type: "text/plain" });
});

test.each<[Route, string, string]>([
  [{ status: 404 }, "not_found", "There is nothing at"],
  [{ status: 403 }, "auth", "does not give /x to everybody"],
  [{ status: 429 }, "rate_limit", "asks to slow down"],
  [{ status: 500 }, "network", "HTTP status 500"],
  [{ status: 302 }, "network", "HTTP status 302"],
  [{ cutAfter: "half", claimed: 5_000 }, "network", "could not be downloaded"],
  [{ body: "x".repeat(1_000_001) }, "limit", "is larger than"],
  [{ endless: "more " }, "limit", "is larger than"],
  [{ location: "/x" }, "network", "in circles"],
  [{ location: "file:///etc/passwd" }, "network", "a place that is not followed: file:///etc/passwd"],
  [{ location: "ftp://127.0.0.1/x" }, "network", "a place that is not followed"],
  [{ location: "data:text/plain,x" }, "network", "a place that is not followed"],
  [{ location: "https://user:word@example.invalid/" }, "network", "a place that is not followed"],
  [{ location: "http://[" }, "network", "a place that is not followed"],
  [{ location: "https://example.invalid/x" }, "network", "to another host: https://example.invalid/x"],
  [{ location: "http://127.0.0.2/x" }, "network", "to another host"],
])("%j", async (route, code, why) => {
  await expect(fetched(route)).rejects.toMatchObject({ code, message: expect.stringContaining(why) });
});

test("who sends nothing, and who never ends, is not waited for", async () => {
  await expect(fetched({ stallAfter: "a bit" }, { stallMs: 50 })).rejects.toMatchObject({
    code: "network",
    message: expect.stringMatching(/sent nothing for 50 ms/),
  });
  await expect(fetched({ stallAfter: "a bit" }, { totalMs: 50 })).rejects.toMatchObject({
    code: "network",
    message: expect.stringMatching(/takes too long/),
  });
});

test("a caller that gives up ends it", async () => {
  const abort = new AbortController();
  const waiting = fetched({ stallAfter: "a bit" }, { signal: abort.signal });
  abort.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
});

test("nobody listening", async () => {
  const host = await startSkillHost();
  await host[Symbol.asyncDispose]();
  await expect(download(`${host.url}/x`, limits)).rejects.toMatchObject({ code: "network" });
});

test("whoever has seen enough closes the connection", async () => {
  await using host = await startSkillHost();
  host.routes.set("/x", { endless: "more " });
  const first = await withDownload(`${host.url}/x`, { maxBytes: 2 ** 40 }, async ({ chunks }) => {
    for await (const chunk of chunks) return Buffer.from(chunk.subarray(0, 5)).toString();
  });
  expect(first).toBe("more ");
});
