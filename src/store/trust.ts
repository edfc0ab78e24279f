// Workspace trust: a cloned repository is hostile until the user trusted it, once, by real path and by a hash of what
// would take effect. A changed hash asks again.

export interface TrustItem {
  /** File the item comes from, relative to the project root. */
  file: string;
  /** For example `allow rule Bash(npm test)`, `permission mode unrestricted`. */
  description: string;
}

export interface Trust {
  /** `nothing`: the folder holds nothing that would need trust. `changed`: trusted before, but the content differs now. */
  readonly status: "trusted" | "untrusted" | "changed" | "nothing";
  /** What would take effect. */
  readonly items: TrustItem[];
  /** Remembers the decision in `~/.letta/trust.json`. */
  grant(): Promise<void>;
  revoke(): Promise<void>;
}
