// From the choice of a remote to something that fetches and pushes. The protocol is loaded when it is needed.

import { join } from "node:path";
import type { AgentSecrets } from "@/store/agent-secrets.ts";
import type { Env } from "@/store/env.ts";
import type { HttpTransportOptions } from "@/store/git/http-transport.ts";
import type { Transport } from "@/store/git/remote.ts";
import type { SshTransportOptions } from "@/store/git/ssh-transport.ts";
import { HARNESS_IDENTITY } from "./places.ts";
import { chooseRemote, type RemoteChoice, remoteTokenName } from "./remote-choice.ts";
import { originOf } from "./remote-settings.ts";
import type { AgentMemory } from "./service.ts";
import type { AgentMemory as SyncedMemory } from "./sync.ts";

/** A memory with the remote its settings name. Throws `usage` for one that is none we talk to, `auth` when its token cannot
 *  be read. */
export async function openSyncedMemory(
  memory: AgentMemory,
  { env, agentSecrets }: { env: Pick<Env, "all">; agentSecrets: Pick<AgentSecrets, "find"> },
): Promise<SyncedMemory> {
  const { agent, places } = memory;
  const repository = await memory.ensure();
  const choice = await chooseRemote({
    agentId: agent.id,
    origin: originOf(repository),
    server: null,
    tokenFor: (origin) => agentSecrets.find(agent.id, remoteTokenName(origin)),
  });
  const objectsDir = join(places.memory, ".git", "objects");
  const transport = choice && (await openRemote(choice, { env: env.all, objectsDir }));
  return {
    dir: places.memory,
    repository,
    remote: choice && transport && { transport, kind: choice.kind },
    by: HARNESS_IDENTITY,
  };
}

export async function openRemote(
  { place, headers }: RemoteChoice,
  options: SshTransportOptions & Omit<HttpTransportOptions, "headers">,
): Promise<Transport> {
  if (place.kind === "ssh") {
    const { createSshTransport } = await import("@/store/git/ssh-transport.ts");
    return createSshTransport(place, options);
  }
  const { createHttpTransport } = await import("@/store/git/http-transport.ts");
  return createHttpTransport(place, { ...options, headers });
}
