// Ids of the local backend. Version 7 UUIDs sort by time, which keeps the indexes compact.

export const newAgentId = (): string => `agent-local-${crypto.randomUUID()}`;
export const newConversationId = (): string => `local-conv-${Bun.randomUUIDv7()}`;
export const newMessageId = (): string => `msg-${Bun.randomUUIDv7()}`;
export const newRunId = (): string => `local-run-${Bun.randomUUIDv7()}`;
/** For calls whose id is empty, doubled or already used. Short and plain enough for every provider. */
export const newCallId = (): string => `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
