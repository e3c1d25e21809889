/**
 * Nothing comes back unless the best record has this score. `npm run bench -- coherence` counts the questions about other
 * talks that recall anything all the same: three to five in a hundred.
 */
export const BAR_DEFAULT = 0.42;
