// A scripted MCP server on stdin and stdout. `MCP_BEHAVIOUR` names what it does wrong.

const behaviour = process.env.MCP_BEHAVIOUR;
const say = (message: object) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));

if (behaviour === "crash") {
  console.error("cannot open the database");
  process.exit(9);
}
console.log("listening on stdin"); // No message, as many servers print one.
if (behaviour === "stays") process.on("SIGTERM", () => {});
if (behaviour === "stays") setInterval(() => {}, 1000);

let pinged = false;
for await (const line of console) {
  const { id, method, params, result } = JSON.parse(line);
  if (id === "ping-1") pinged = JSON.stringify(result) === "{}";
  else if (method === "initialize") {
    say({ id: "ping-1", method: "ping" });
    say({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "fake" } } });
  } else if (method === "tools/list") {
    const page = params.cursor === undefined ? 1 : 2;
    const tool = { name: `tool_${page}`, description: `Number ${page}.\nMore.`, inputSchema: { type: "object" } };
    say({ id, result: { tools: [tool], ...(page === 1 && { nextCursor: "next" }) } });
  } else if (method === "tools/call" && params.name === "state") {
    const secrets = Object.keys(process.env).filter((name) => /KEY|TOKEN/.test(name));
    const state = {
      pid: process.pid,
      pinged,
      secrets,
      token: process.env.GIVEN ?? null,
      cwd: process.cwd(),
      args: params.arguments,
    };
    say({ id, result: { content: [{ type: "text", text: JSON.stringify(state) }] } });
  } else if (method === "tools/call" && params.name === "fails") {
    say({ id, result: { isError: true, content: [{ type: "text", text: "no such page" }] } });
  } else if (method === "tools/call" && params.name === "image") {
    const data = Buffer.from("PNG").toString("base64");
    say({ id, result: { content: [{ type: "image", mimeType: "image/png", data }] } });
  } else if (method === "tools/call" && params.name === "silent") {
    // No answer.
  } else if (id !== undefined) say({ id, error: { code: -32602, message: `unknown tool ${params?.name}` } });
}

export {};
