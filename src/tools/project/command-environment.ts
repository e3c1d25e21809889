import { redactSecrets } from "../../secrets/redact-secrets.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The variables of a command: those of yours that programs need and that hold no credential by their meaning, and those
 * that you named. A list of names that are dangerous would never be complete.
 */
export function commandEnvironment(
  env: Environment,
  named: readonly string[],
): Readonly<Record<string, string>> {
  const kept = Object.entries(env).filter((entry): entry is [string, string] => {
    const [name, value = ""] = entry;
    return named.includes(name) || (HARMLESS.has(spelled(name)) && isPublic(value));
  });
  return { ...Object.fromEntries(kept), ...FOR_PROGRAMS };
}

/** Windows writes their names in any case. */
function spelled(name: string): string {
  return process.platform === "win32" ? name.toUpperCase() : name;
}

/** Whether a value has no credential, such as the password of a proxy. */
function isPublic(value: string): boolean {
  return !/:\/\/[^\s/]*@/.test(value) && redactSecrets(value) === value;
}

const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/** Folders, programs, languages and switches. No name with a star: it would let others through. */
const HARMLESS: ReadonlySet<string> = new Set([
  // The user and the system.
  ...["HOME", "USER", "LOGNAME", "SHELL", "PATH", "PWD", "HOSTNAME", "TMPDIR", "TMP", "TEMP"],
  ...["LANG", "LANGUAGE", "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION"],
  ...["LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER"],
  ...["LC_TELEPHONE", "LC_TIME", "TZ", "TZDIR"],
  ...["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_DATA_DIRS"],
  ...["XDG_CONFIG_DIRS", "MANPATH", "INFOPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"],
  // Certificates and proxies.
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO"],
  ...["NODE_EXTRA_CA_CERTS", ...PROXIES, ...PROXIES.map((name) => name.toLowerCase())],
  // Where languages and their tools are.
  ...["CI", "NODE_ENV", "NODE_PATH", "NODE_COMPILE_CACHE", "NVM_DIR", "NVM_BIN", "FNM_DIR"],
  ...["VOLTA_HOME", "PNPM_HOME", "COREPACK_HOME", "BUN_INSTALL", "DENO_DIR", "DENO_INSTALL"],
  ...["VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"],
  ...[
    "PYENV_ROOT",
    "PYENV_VERSION",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "CONDA_EXE",
    "UV_CACHE_DIR",
  ],
  ...["GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOOS", "GOARCH", "GOTOOLCHAIN"],
  ...["CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUST_BACKTRACE"],
  ...["JAVA_HOME", "JDK_HOME", "M2_HOME", "MAVEN_HOME", "GRADLE_HOME", "GRADLE_USER_HOME"],
  ...[
    "KOTLIN_HOME",
    "SCALA_HOME",
    "SDKMAN_DIR",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ANDROID_NDK_HOME",
  ],
  ...["GEM_HOME", "GEM_PATH", "RBENV_ROOT", "RBENV_VERSION", "BUNDLE_PATH", "BUNDLE_GEMFILE"],
  ...["DOTNET_ROOT", "NUGET_PACKAGES", "COMPOSER_HOME", "ERL_LIBS", "MIX_HOME", "HEX_HOME"],
  ...[
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
  ],
  ...["HOMEBREW_PREFIX", "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY", "CUDA_HOME", "CUDA_PATH"],
  ...["CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "PKG_CONFIG_PATH"],
  ...["CMAKE_PREFIX_PATH", "SDKROOT", "DEVELOPER_DIR", "PREFIX"],
  // Variables that Windows and its programs need.
  ...["SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "HOMEDRIVE"],
  ...["HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "ALLUSERSPROFILE", "PUBLIC", "OS"],
  ...["PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES"],
  ...["COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432", "PSMODULEPATH", "USERNAME", "USERDOMAIN"],
  ...["COMPUTERNAME", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "PROCESSOR_IDENTIFIER"],
]);

const FOR_PROGRAMS = {
  NO_COLOR: "1",
  TERM: "dumb",
  PAGER: "cat",
  GIT_PAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
};
