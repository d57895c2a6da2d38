// The chapters in the order in which they are told.
import two from './03-two.js';

export const CHAPTERS = [two];
