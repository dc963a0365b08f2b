class Account {
  #balance = 0;
  static count = 0;
  constructor(owner) { this.owner = owner; Account.count++; }
  deposit(amount) { if (amount <= 0) throw new RangeError('amount'); this.#balance += amount; return this; }
  get balance() { return this.#balance; }
}
const accounts = ['ann', 'bob'].map((owner, i) => new Account(owner).deposit(10 * (i + 1)));
console.log(accounts, Account.count, accounts.reduce((sum, { balance }) => sum + balance, 0));
const fibonacci = (() => { const known = {}; return function f(n) { return n < 2 ? n : known[n] ??= f(n - 1) + f(n - 2); }; })();
console.log(fibonacci(80), [3, 1, 2].sort(), 'a-b'.split('-'), [..."añ😀"], new Intl.NumberFormat('en').format(12345.678));
function* naturals() { let n = 0; while (true) yield n++; }
for (const n of naturals()) { if (n > 2) break; console.log(n); }
label: for (const a of [1, 2]) { for (const b of [1, 2]) { if (b === 2) continue label; console.log(a, b); } }
console.log(new Date(2020, 1, 29).toISOString(), (0.1 + 0.2).toFixed(2), parseInt('12px'), typeof null, [] + {});
