import { describe, expect, test } from "bun:test";
import { assertPrivate, parseRemoteUrl, redactUrl } from "@/store/git/remote.ts";

describe("addresses of remotes", () => {
  test.each([
    ["https://git.example.com/ann/memory.git/", "https://git.example.com/ann/memory.git", null],
    [" https://ann@git.example.com:8443/m ", "https://git.example.com:8443/m", "ann"],
    ["http://127.0.0.1:3000/m.git", "http://127.0.0.1:3000/m.git", null],
  ])("%s", (text, url, username) => {
    expect(parseRemoteUrl(text)).toEqual({ kind: "http", url, origin: new URL(url).origin, username });
  });

  test.each(["git@github.com:ann/memory.git", "ssh://git@host:2222/m.git"])("%s goes through ssh", (url) => {
    expect(parseRemoteUrl(url)).toEqual({ kind: "ssh", url });
  });

  test.each([
    "",
    "memory",
    "/srv/memory.git",
    "../memory.git",
    "file:///srv/memory.git",
    "ext::sh -c id",
    "ext::ssh://x",
    "git://host/m.git",
    "ftp://host/m",
    "-oProxyCommand=id",
    "git@host:-u/m.git x",
    "ssh://-oProxyCommand=id/m",
    "ssh://-l@host/m",
    "ssh://git:pw@host/m",
    "https://ann:pw@host/m",
    "https://host/m?x=1",
    "https://host/m#x",
    "git@host:-oProxyCommand=id",
    "transport::https://host/m",
  ])("%j is refused", (text) => {
    expect(() => parseRemoteUrl(text)).toThrow(expect.objectContaining({ code: "usage" }));
  });

  test("no message shows a password", () => {
    for (const text of ["https://ann:hunter2@host/m", "ftp://hunter2@host/m", "ssh://git:hunter2@host/m"]) {
      let message = "";
      try {
        parseRemoteUrl(text);
      } catch (error) {
        message = String(error);
      }
      expect(message).not.toBe("");
      expect(message).not.toContain("hunter2");
    }
    expect(redactUrl("https://ghp_token@github.com/x")).toBe("https://***@github.com/x");
    expect(redactUrl("ssh://git@host/x")).toBe("ssh://git@host/x");
  });

  test.each([
    ["https://git.example.com/m", null, true],
    ["http://git.example.com/m", null, false],
    ["http://git.example.com/m", "http://git.example.com", true],
    ["http://localhost:80/m", null, true],
    ["http://127.0.0.1.example.com/m", null, false],
    ["git@host:m", null, true],
  ])("%s with base %p may be used: %p", (text, base, fine) => {
    const check = () => assertPrivate(parseRemoteUrl(text), base);
    if (fine) check();
    else expect(check).toThrow(expect.objectContaining({ code: "usage" }));
  });
});
