// The chapters in the order in which they are told.
import race from './01-race.js';
import lunch from './02-lunch.js';
import two from './03-two.js';
import timelines from './04-timelines.js';
import proof from './05-proof.js';
import coin from './06-coin.js';
import residual from './07-residual.js';
import sentence from './08-sentence.js';
import guess from './09-guess.js';
import same from './10-same.js';
import float from './11-float.js';
import family from './12-family.js';
import sandbox from './13-sandbox.js';

export const CHAPTERS = [race, lunch, two, timelines, proof, coin, residual, sentence, guess, same, float, family, sandbox];
