// Provider keys: in the OS keychain where there is one, else in a 0600 file. Never in argv, logs or tool output.

/** One connected provider (spec 02 §3.10); unknown fields survive. */
export interface ProviderRecord {
  /** Connection name, also the handle prefix: `anthropic`, `lmstudio`, or a user's own name for an endpoint. */
  name: string;
  /** Which kind of provider it is: `anthropic`, `openai`, `openai-compatible`, … */
  providerType: string;
  baseUrl?: string;
  region?: string;
  profile?: string;
  accessKey?: string;
  /** Milliseconds; false = none. */
  timeoutMs?: number | false;
  /** Context windows the user told us, by model id. */
  contextWindows?: Record<string, number>;
  createdAt: string;
  updatedAt: string;
}

export interface Secrets {
  listProviders(): Promise<ProviderRecord[]>;
  saveProvider(record: ProviderRecord, key: string | null): Promise<void>;
  /** Null for keyless endpoints. */
  findKey(name: string): Promise<string | null>;
  /** False when it was not connected. */
  removeProvider(name: string): Promise<boolean>;
  /** Where keys are kept, for people: "OS keychain" or the file's path. */
  readonly location: string;
}
