/** Of the operations, their fields and the error codes, as the wires have them. Breaking changes raise the first number that is not 0. */
export const CONTRACT_VERSION = "0.1.0";
