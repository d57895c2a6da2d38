// Running text of a chapter, and the questions that have a link of their own.
import { h } from './dom.js';
import { say } from './words.js';

/** A block of prose from the words. Returns its node; say(node, id, values) changes its numbers. */
export function prose(root, id, values) {
  const node = h('div', { class: 'prose', w: id, values });
  root.append(node);
  return node;
}

/** A question and its answer at a place with its own link: words `<id>.q` and `<id>.a`. */
export function question(root, chapter, id) {
  const link = h('a', { 'data-chapter': chapter, 'data-at': id, w: `${id}.q` });
  root.append(h('section', { class: 'why', 'data-place': id }, h('h2', {}, link), h('div', { class: 'prose', w: `${id}.a` })));
}

/** Numbers in a sentence that change while the reader plays: only the text moves. */
export const refill = (node, values) => say(node, node.dataset.w, values);
