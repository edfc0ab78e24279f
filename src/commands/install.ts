// `letta install`: the short form of `letta skills install`.

export { install as command } from "./skills.ts";
