import { describeProvider } from "./describe-provider.ts";
import { PROTOCOL_NAMES } from "./support.ts";

for (const protocol of PROTOCOL_NAMES) describeProvider(protocol);
