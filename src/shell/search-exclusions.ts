// Searches that walk folders meet files that ask when they are read one by one. What is allowed without asking leaves them
// out: these options are added to the command that runs.

const FILES = [
  ".env",
  ".env.*",
  "*.env",
  ".envrc",
  ".netrc",
  "_netrc",
  ".npmrc",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  ".git-credentials",
  ".htpasswd",
  "*.pem",
  "*.key",
  "*.p12",
  "*.pfx",
  "*.jks",
  "*.keystore",
  "*.kdbx",
  "id_rsa*",
  "id_dsa*",
  "id_ecdsa*",
  "id_ed25519*",
  "credentials.json",
  "credentials.yml",
  "credentials.yaml",
  "credentials.toml",
  "secrets.json",
  "secrets.yml",
  "secrets.yaml",
  "secrets.toml",
];
const FOLDERS = [
  ".ssh",
  ".aws",
  ".azure",
  ".gnupg",
  ".kube",
  ".docker",
  ".password-store",
  ".mozilla",
  ".config",
  ".local",
];

/** What a search leaves out, by name. */
export const EXCLUDED_NAMES: readonly string[] = [...FILES, ...FOLDERS];

/** The last option that matches wins, so these stand behind what was given. */
export const GREP_EXCLUSIONS: readonly string[] = [
  ...FILES.map((name) => `--exclude=${name}`),
  ...FOLDERS.map((name) => `--exclude-dir=${name}`),
];
export const RIPGREP_EXCLUSIONS: readonly string[] = EXCLUDED_NAMES.map((name) => `--iglob=!${name}`);

/** A glob for ripgrep that leaves files out, or names files by an ending: neither brings hidden ones back. */
export function isModestGlob(glob: string): boolean {
  return glob.startsWith("!") || /^(?:\*\*\/|[A-Za-z0-9_-]+\/)*\*\.(?:\w+|\{\w+(?:,\w+)*\})$/.test(glob);
}
