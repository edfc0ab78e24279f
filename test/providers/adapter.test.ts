import { afterAll } from "bun:test";
import { describeProvider } from "./describe-provider.ts";
import { PROTOCOL_NAMES, removeHomes } from "./support.ts";

afterAll(removeHomes);
for (const protocol of PROTOCOL_NAMES) describeProvider(protocol);
