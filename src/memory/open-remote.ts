// From the choice of a remote to something that fetches and pushes. The protocol is loaded when it is needed.

import type { HttpTransportOptions } from "@/store/git/http-transport.ts";
import type { Transport } from "@/store/git/remote.ts";
import type { SshTransportOptions } from "@/store/git/ssh-transport.ts";
import type { RemoteChoice } from "./remote-choice.ts";

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
