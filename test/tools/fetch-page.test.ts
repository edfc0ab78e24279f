import { afterAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { type FetchOptions, fetchPage, parseFetchUrl } from "@/tools/fetch-page.ts";

const requests: string[] = [];
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const { pathname, port } = new URL(request.url);
    requests.push(`${request.headers.get("host")}${pathname}`);
    const to = (location: string) => new Response(null, { status: 302, headers: { location } });
    const html = { headers: { "content-type": "text/html; charset=utf-8" } };
    switch (pathname) {
      case "/page":
        return new Response("<p>grüße</p>", html);
      case "/latin":
        return new Response(new Uint8Array([0xfc]), { headers: { "content-type": "text/plain; charset=iso-8859-1" } });
      case "/image":
        return new Response("x", { headers: { "content-type": "image/png" } });
      case "/missing":
        return new Response("gone", { status: 404 });
      case "/same":
        return to("/page");
      case "/loop":
        return to("/loop");
      case "/other":
        return to(`http://other.test:${port}/page`);
      case "/inside":
        return to(`http://localhost:${port}/page`);
      case "/file":
        return to("file:///etc/passwd");
      case "/bomb":
        return new Response(gzipSync(Buffer.alloc(8_000_000)), {
          headers: { "content-encoding": "gzip", "content-type": "text/plain" },
        });
      case "/endless":
        return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(100_000)) }), {
          headers: { "content-type": "text/plain" },
        });
      case "/silent":
        return new Response(new ReadableStream({ pull: () => new Promise(() => {}) }), html);
      default:
        return new Response("?");
    }
  },
});
afterAll(() => server.stop(true));

const resolved: string[] = [];
/** Loopback stands for the public internet, 10.0.0.1 for a private network. */
const options = (more: Partial<FetchOptions> = {}): FetchOptions => ({
  signal: new AbortController().signal,
  userAgent: "test",
  isAllowed: (address) => address === "127.0.0.1",
  resolve: async (host) => {
    resolved.push(host);
    return host === "localhost" ? ["10.0.0.1"] : host === "mixed.test" ? ["127.0.0.1", "10.0.0.1"] : ["127.0.0.1"];
  },
  ...more,
});
const get = (path: string, host = "site.test", more: Partial<FetchOptions> = {}) =>
  fetchPage(parseFetchUrl(`http://${host}:${server.port}${path}`), options(more));

test("a page comes from the address that was judged, under its own name", async () => {
  requests.length = 0;
  expect(await get("/page")).toEqual({
    kind: "page",
    page: { url: `http://site.test:${server.port}/page`, status: 200, type: "text/html", text: "<p>grüße</p>" },
  });
  expect(requests).toEqual([`site.test:${server.port}/page`]);
});

test("what a server says about an error is a page, too; its charset is obeyed", async () => {
  expect(await get("/missing")).toMatchObject({ page: { status: 404, text: "gone" } });
  expect(await get("/latin")).toMatchObject({ page: { text: "ü" } });
});

test("redirects: followed on the same host, reported to another", async () => {
  expect(await get("/same")).toMatchObject({ kind: "page", page: { url: expect.stringContaining("/page") } });
  expect(await get("/other")).toEqual({ kind: "elsewhere", url: `http://other.test:${server.port}/page` });
  expect(await get("/inside")).toEqual({ kind: "elsewhere", url: `http://localhost:${server.port}/page` });
  await expect(get("/loop")).rejects.toThrow("redirects more than 5 times");
  await expect(get("/file")).rejects.toThrow("Only http and https can be fetched, not file:");
});

test("each hop is judged anew: a name that changes its address is refused", async () => {
  let calls = 0;
  const resolve = async () => (++calls === 1 ? ["127.0.0.1"] : ["10.0.0.1"]);
  await expect(get("/same", "rebind.test", { resolve })).rejects.toThrow(
    "rebind.test (10.0.0.1) is not on the public internet",
  );
  expect(calls).toBe(2);
});

describe("refused:", () => {
  test.each([
    ["a private address", "10.0.0.1", "10.0.0.1 is not on the public internet"],
    ["a name with a private address", "localhost", "localhost (10.0.0.1) is not on the public internet"],
    ["a name with one private address among others", "mixed.test", "mixed.test (10.0.0.1) is not"],
  ])("%s", async (_, host, message) => {
    requests.length = 0;
    await expect(get("/page", host)).rejects.toThrow(message);
    expect(requests).toEqual([]);
  });

  test.each([
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://017700000001/",
    "http://0/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://localhost/",
    "http://①②⑦.⓪.⓪.①/",
  ])("%s, by default", async (url) => {
    const plain = { signal: new AbortController().signal, userAgent: "test" };
    await expect(fetchPage(parseFetchUrl(url), plain)).rejects.toThrow("is not on the public internet");
  });

  test.each([
    ["ftp://h/", "Only http and https"],
    ["file:///etc/passwd", "Only http and https"],
    ["http://user:pass@h/", "user name"],
    ["h/x", "Not a URL"],
  ])("%s", (url, message) => expect(() => parseFetchUrl(url)).toThrow(message));

  test("what is too large, also after decompression, and what is no text", async () => {
    await expect(get("/bomb")).rejects.toThrow("is larger than 5,242,880 bytes");
    await expect(get("/endless")).rejects.toThrow("is larger than 5,242,880 bytes");
    await expect(get("/image")).rejects.toThrow("is image/png, not text");
  });
});

test("a time limit is an answer, an abort is an abort", async () => {
  await expect(get("/silent", "site.test", { timeoutMs: 100 })).rejects.toThrow(
    "did not answer completely within 0.1 s",
  );
  const controller = new AbortController();
  const running = get("/silent", "site.test", { signal: controller.signal });
  controller.abort(new Error("stopped"));
  await expect(running).rejects.toThrow("stopped");
});
