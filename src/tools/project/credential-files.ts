import { findSecrets } from "../../secrets/redact-secrets.ts";
import { wordSet } from "../../text/word-set.ts";
import { withoutEnd } from "./project-folder.ts";

/**
 * Whether the name of a file, or of a folder above it, says that it may hold credentials. `path` is relative, with `/`.
 *
 * A name is read as words: `serviceAccountKey.json` is "service account key". Its endings of copies do not count, so
 * `.env.local~` is `.env`. Source code and documents are known by their folders with a dot only, and by what is in them.
 */
export function mayHoldCredentials(path: string): boolean {
  const parts = path.split("/");
  const name = withoutCopies(parts.pop() ?? "");
  if (NAMES.has(name.toLowerCase())) return true;
  const [, ...endings] = name.toLowerCase().slice(1).split(".");
  if (endings.some((ending) => FOR_EVERYONE.has(ending))) return false;
  if (parts.some((part) => SECRET_FOLDERS.has(withoutEnd(part)))) return true;
  if (NO_DATA.has(endings.at(-1) ?? "")) return false;
  return (
    endings.some((ending) => SECRET_ENDINGS.has(ending)) ||
    sayCredentials(wordsOf(name), /^[._#]/.test(name)) ||
    /^appsettings\..+\.json$/i.test(name) ||
    parts.some((part) => wordsOf(part).some((word) => FOLDER_WORDS.has(word)))
  );
}

/** Characters around what is shown that are looked at too. A private key has fewer. */
const AROUND = 16_000;
/** A text is looked at as a whole up to this length. */
const WHOLE_MAX = 1_000_000;

/** Whether a text, of which the characters from `start` to `end` are shown, has a credential in it or near them. */
export function hasCredentials(text: string, start: number, end: number): boolean {
  const part =
    text.length <= WHOLE_MAX ? text : text.slice(Math.max(0, start - AROUND), end + AROUND);
  return findSecrets(part).length > 0;
}

/** The words of a name without its dot. */
function sayCredentials(words: readonly string[], hasDot: boolean): boolean {
  const [first = "", second = ""] = words;
  const base = words.length > 1 && DATA.has(words.at(-1) ?? "") ? words.slice(0, -1) : words;
  return (
    words.some((word) => WORDS.has(word)) ||
    /^keys?$/.test(base.at(-1) ?? "") ||
    (first === "id" && /^(?:rsa|dsa|ecdsa|ed25519|xmss)$/.test(second)) ||
    words.join(" ").includes("service account") ||
    (hasDot && (RC_FILES.has(first) || /^(?:vars|history)$/.test(base.at(-1) ?? "")))
  );
}

function wordsOf(name: string): readonly string[] {
  const apart = name.replace(/([a-z0-9])(?=[A-Z])/g, "$1 ").toLowerCase();
  return apart.split(/[^a-z0-9]+/).filter((word) => word !== "");
}

/** Endings that editors, people and programs put behind the name of a copy. */
const COPY =
  /(?:[~#]|[._ -](?:bak|backup|old|orig|original|save|saved|sw[a-p]|tmp|temp|copy|prev|previous|rpmsave|rpmnew|dpkg-\w+|local|gz|bz2|xz|zst|zip|[\d-]{1,20})| ?\(\d{1,4}\))$/i;
const ENDINGS_MAX = 5;

function withoutCopies(name: string): string {
  let stem = name;
  for (let count = 0; count < ENDINGS_MAX; count += 1) {
    // Some file systems drop dots and spaces at the end of a name.
    stem = stem.slice(0, withoutEnd(stem).length).replace(COPY, "") || stem;
  }
  return stem.replace(/^[#.]+(?=\.)/, "");
}

/** Endings of files that everyone gets: only what is in them counts. */
const FOR_EVERYONE = wordSet("example sample template tmpl dist pub schema");

const SECRET_FOLDERS = wordSet(
  ".ssh .aws .gnupg .kube .azure .docker .gcloud .oci .chef .envs .vault .secrets .credentials .password-store gcloud kube",
);

/** Words of a folder whose data may hold credentials. Design tokens are none. */
const FOLDER_WORDS = wordSet(
  "secret secrets credential credentials creds passwords keys keystores",
);

/** Words of a file of data. */
const WORDS = wordSet(`
  env envs secret secrets credential credentials cred creds password passwords passwd passphrase pass pwd
  token apikey apikeys keystore truststore keyring vault kubeconfig htpasswd pgpass netrc smbcredentials adminsdk
`);

/** First words of files with a dot. */
const RC_FILES = wordSet(`
  npmrc yarnrc pnpmrc pypirc netrc pgpass my mylogin s3cfg boto dockercfg gitconfig condarc gemrc envrc
  flaskenv terraformrc curlrc wgetrc msmtprc fetchmailrc muttrc databrickscfg snowsql pulumi trivy environment
`);

const NAMES = wordSet(`
  auth.json pip.conf pip.ini gradle.properties wp-config.php database.yml nuget.config rclone.conf
  local.settings.json .renviron cookies.txt cookies.sqlite client_secret.json oauth_client.json google-services.json googleservice-info.plist _netrc _viminfo
`);

const SECRET_ENDINGS = wordSet(`
  pem key p8 p12 pfx pkcs12 jks bks keystore truststore keytab keychain keychain-db kdb kdbx ppk asc gpg pgp agekey
  tfstate tfvars env envrc vars ovpn rdp mobileprovision secret secrets credentials creds token htpasswd pgpass netrc kubeconfig
`);

/** Endings that say how data is written, and nothing about what it is. */
const DATA = wordSet(
  "json json5 jsonc yml yaml toml ini txt xml properties conf cfg cnf csv plist enc",
);

/** Endings of code, documents and pictures. */
const NO_DATA = wordSet(`
  ts tsx mts cts js jsx mjs cjs py pyi ipynb rb rs go java kt kts scala groovy c h cc cpp hpp cxx cs fs vb php swift m mm
  dart lua pl pm r jl ex exs erl hs clj cljs elm ml zig nim sh bash zsh fish ps1 bat cmd vue svelte astro html htm css
  scss sass less graphql gql proto wasm map snap lock md mdx markdown rst adoc tex pdf png jpg jpeg gif svg webp ico
`);
