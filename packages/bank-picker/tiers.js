// How good a match is; a hit is as good as its worst word. A module, and not an object, so that bundlers put the numbers in.

export const whole = 0;
/** One or two letters with which the name of a well-known bank begins; or another of its names. */
export const beginning = 1;
export const otherBeginning = 2;
export const word = 3;
export const start = 4;
/** The beginning of an ISPB, or of a word that many names have. */
export const weak = 5;
export const sound = 6;
export const error = 7;
export const errorInStart = 8;
export const inside = 9;
export const errors = 10;
export const none = 255;
