/** Each form of an issuer, and each random value, has at least so many characters without a space between them. */
const RUN_MIN = 15;

/** Whatever `findSecrets` finds in shorter runs stands beside one of these. */
const SIGN =
  /:\/\/|-----BEGIN |pass|pwd|key|secret|token|credential|identified|recovery|seed|mnemonic|authorization|cookie|curl|mysql|mariadb|sig=/i;

/**
 * Whether a text is worth the search for credentials. When the answer is no, `findSecrets` finds none.
 *
 * Most messages are ordinary sentences. This costs a tenth of the search.
 */
export function mayHaveSecret(text: string): boolean {
  let run = 0;
  for (let at = 0; at < text.length; at += 1) {
    run = text.charCodeAt(at) <= SPACE ? 0 : run + 1;
    if (run === RUN_MIN) return true;
  }
  return SIGN.test(text);
}

const SPACE = 32;
