// Names whose content is usually a credential, wherever they lie. One list for the rules about reading and for what
// searches leave out. Lower case; compared without regard to it.

/** `*` stays inside one name. A folder stands for all that is below it. */
export const SECRET_NAMES: readonly string[] = [
  ...[".env", ".env.*", "*.env", ".env-*", ".env_*", ".env~", ".envrc"],
  ...[".ssh", ".aws", ".azure", ".gnupg", ".kube", ".password-store", ".mozilla"],
  ...[".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd"],
  ...[".dockercfg", ".s3cfg", ".boto", ".vault-token", ".credentials.json", "credentials.tfrc.json"],
  ...["*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"],
  ...["id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"],
  ...["credentials", "secrets"].flatMap((name) => ["json", "yml", "yaml", "toml"].map((end) => `${name}.${end}`)),
  ".docker/config.json",
  ...["gh", "hub", "op", "gcloud", "rclone", "doctl", "containers", "google-chrome", "chromium", "bravesoftware"].map(
    (name) => `.config/${name}`,
  ),
  ".local/share/keyrings",
  "library/keychains",
  ...["google", "firefox", "bravesoftware"].map((name) => `library/application support/${name}`),
];

/** What a search may find secrets below although its own name is none: the beginnings of the longer names. */
const BEGINNINGS: readonly (readonly string[])[] = SECRET_NAMES.flatMap((name) => {
  const segments = name.split("/");
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1));
});

const LAST_OF_BEGINNINGS = new Set(BEGINNINGS.map((beginning) => beginning.at(-1)));

/** True for `~/.config` and `~/.local/share`: below them names are secret that elsewhere are ordinary. `path` is absolute and
 *  does not end in a slash. */
export function startsSecretName(path: string): boolean {
  const folded = path.toLowerCase();
  // Most folders end otherwise.
  if (!LAST_OF_BEGINNINGS.has(folded.slice(folded.lastIndexOf("/") + 1))) return false;
  const segments = folded.split("/").filter(Boolean);
  return BEGINNINGS.some((beginning) => beginning.every((name, at) => segments.at(at - beginning.length) === name));
}
