// Recomputes every vector of coins.json with the JavaScript coins; prints the names and counts that differ, as JSON.
import { readFileSync } from "node:fs";
const coins = await import(process.argv[2]);
const golden = JSON.parse(readFileSync(process.argv[3], "utf8"));

const view = new DataView(new ArrayBuffer(8));
const number = (hex) => (view.setBigUint64(0, BigInt("0x" + hex)), view.getFloat64(0));
const hexed = (x) => (view.setFloat64(0, x), view.getBigUint64(0).toString(16).padStart(16, "0"));

const redo = {
  words: ([a, b, c, d]) => [a, b, c, d, ...coins.words([a, b], [c, d])],
  uniform: ([a, b]) => [a, b, hexed(coins.uniform([a, b]))],
  log: ([x]) => [x, hexed(coins.log(number(x)))],
  exp: ([x]) => [x, hexed(coins.exp(number(x)))],
  draws: ([seed, choice, round, stream, node]) => [
    seed, choice, round, stream, node, hexed(coins.roundCoins(BigInt(seed), choice, round).draw(stream, node)),
  ],
  targets: ([seed, choice, position, ws]) => [
    seed, choice, position, ws, coins.roundCoins(BigInt(seed), choice, 0).target(ws.map(number), position),
  ],
  races: ([a, b, ws]) => [a, b, ws, coins.race(ws.map(number), [a, b])],
  picks: ([ws, u]) => [ws, u, coins.pick(ws.map(number), number(u))],
};

const report = {};
for (const [name, rows] of Object.entries(golden)) {
  const wrong = rows.filter((row) => JSON.stringify(redo[name](row)) !== JSON.stringify(row));
  report[name] = { rows: rows.length, wrong: wrong.length };
}
console.log(JSON.stringify(report));
