import { PROVIDERS } from "./providers.ts";

/** A provider of models, and what it lacks to be used. */
export interface ProviderState {
  readonly name: string;
  readonly package: string;
  readonly installed: boolean;
  /** The variable that holds its key. Left out where no key is needed. */
  readonly keyVariable?: string;
  readonly hasKey: boolean;
}

/** The state of every provider. `settings` may name another variable for its key. */
export function providerStates(
  settings: Readonly<Record<string, { readonly api_key_env?: string }>>,
  env: Readonly<Record<string, string | undefined>>,
): readonly ProviderState[] {
  return Object.entries(PROVIDERS).map(([name, provider]) => {
    const own = settings[name]?.api_key_env;
    const variables = own === undefined ? provider.keyVariables : [own];
    const set = variables.find((variable) => env[variable]?.trim());
    const keyVariable = set ?? (provider.keyOptional ? undefined : variables[0]);
    return {
      name,
      package: provider.package,
      installed: isInstalled(provider.package),
      hasKey: set !== undefined,
      ...(keyVariable === undefined ? {} : { keyVariable }),
    };
  });
}

function isInstalled(packageName: string): boolean {
  try {
    import.meta.resolve(packageName);
    return true;
  } catch {
    return false;
  }
}
