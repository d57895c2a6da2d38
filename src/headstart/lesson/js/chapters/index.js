// The chapters in the order in which they are told.
import two from './03-two.js';
import timelines from './04-timelines.js';
import proof from './05-proof.js';
import coin from './06-coin.js';
import residual from './07-residual.js';

export const CHAPTERS = [two, timelines, proof, coin, residual];
