// Elements, numbers, timing. Knows nothing of the lesson.
import { say, label } from './words.js';

const SVG = 'http://www.w3.org/2000/svg';

/** An element: h('button', {class, w: word id, l: word id of its label, on: {click}, ...attributes}, ...children). */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same in SVG. */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'on') for (const [type, fn] of Object.entries(value)) node.addEventListener(type, fn);
    else if (key === 'w') say(node, value, props.values);
    else if (key === 'l') label(node, value, props.values);
    else if (key === 'css') css(node, value);
    else if (key !== 'values') node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Custom properties and styles, through the object model: style attributes are barred by the security policy. */
export function css(node, styles) {
  for (const [name, value] of Object.entries(styles)) node.style.setProperty(name, value);
}

/** Shows or hides without moving anything else into place by script. */
export function shown(node, yes) { node.hidden = !yes; return node; }

/** Marks a button that would do nothing now; it keeps the focus, unlike one that is disabled. */
export function able(node, yes) { node.setAttribute('aria-disabled', String(!yes)); }

export const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
export const percent = (x, digits = 0) => `${(100 * x).toFixed(digits)}%`;
/** A decimal without trailing zeros, at most `digits` after the point. */
export const decimal = (x, digits = 2) => (Number.isFinite(x) ? String(Number(x.toFixed(digits))) : '∞');
export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ' ');

export const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** Works through a generator in slices of about ten milliseconds, so that the page never stalls. */
export function inSlices(steps, done = () => {}) {
  let alive = true;
  const slice = () => {
    if (!alive) return;
    const until = performance.now() + 10;
    for (;;) {
      if (steps.next().done) return void done();
      if (performance.now() > until) break;
    }
    setTimeout(slice, 0);
  };
  slice();
  return () => { alive = false; };
}
