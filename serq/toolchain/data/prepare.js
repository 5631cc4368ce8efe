// prepare.js IN.wasm OUT.wasm SYMS.bin: makes the published lean.wasm usable. Its 200 000 exports are
// stripped: the functions move into the indirect function table, and their names into a compact hash
// table for dlsym (SYMS.bin). A few byte patterns are patched, each checked to occur exactly once.
'use strict';
const fs = require('fs');
const [, , IN, OUT, SYMS] = process.argv;
const b = fs.readFileSync(IN);
let p = 8;
function u() {
  let r = 0,
    s = 1;
  for (;;) {
    const x = b[p++];
    r += (x & 127) * s;
    if (x < 128) return r;
    s *= 128;
  }
}
function sleb() {
  let r = 0n,
    s = 0n;
  for (;;) {
    const x = BigInt(b[p++]);
    r |= (x & 127n) << s;
    s += 7n;
    if (x < 128n) {
      if (x & 64n) r -= 1n << s;
      return Number(r);
    }
  }
}
function leb(n) {
  const o = [];
  do {
    let x = n % 128;
    n = Math.floor(n / 128);
    if (n) x |= 128;
    o.push(x);
  } while (n);
  return o;
}
const secs = [];
while (p < b.length) {
  const id = b[p++];
  const n = u();
  secs.push({ id, p, n });
  p += n;
}
const sec = (id) => secs.find((s) => s.id === id);
// exports
p = sec(7).p;
let c = u();
const ex = [];
for (let i = 0; i < c; i++) {
  const n = u();
  const nb = b.subarray(p, p + n);
  p += n;
  const kind = b[p++];
  const idx = u();
  ex.push({ nb, kind, idx });
}
// globals
p = sec(6).p;
c = u();
const nimpG = countImports(3);
const gl = [];
for (let i = 0; i < c; i++) {
  const t = b[p++],
    m = b[p++];
  const op = b[p++];
  let v = null;
  if (op === 0x41 || op === 0x42) v = sleb();
  else if (op === 0x23) u();
  else throw Error('global init op ' + op);
  if (b[p++] !== 0x0b) throw Error('global');
  gl.push(v);
}
function countImports(k) {
  const save = p;
  p = sec(2).p;
  const c = u();
  let n = 0;
  for (let i = 0; i < c; i++) {
    let l = u();
    p += l;
    l = u();
    p += l;
    const kind = b[p++];
    if (kind === 0) u();
    else if (kind === 1) {
      p++;
      const f = u();
      u();
      if (f & 1) u();
    } else if (kind === 2) {
      const f = u();
      u();
      if (f & 1) u();
    } else if (kind === 3) p += 2;
    if (kind === k) n++;
  }
  p = save;
  return n;
}
// element segment
p = sec(9).p;
if (u() !== 1 || u() !== 0 || b[p++] !== 0x41) throw Error('elem');
const base = sleb();
if (b[p++] !== 0x0b) throw Error('elem2');
const ne = u();
const fidx2tab = new Map();
for (let i = 0; i < ne; i++) {
  const f = u();
  if (!fidx2tab.has(f)) fidx2tab.set(f, base + i);
}
let next = base + ne;
const added = [];
const syms = [];
{
  const save = p;
  p = sec(2).p;
  const c = u();
  let fi = 0;
  for (let i = 0; i < c; i++) {
    let l = u();
    p += l;
    l = u();
    const nm = b.subarray(p, p + l);
    p += l;
    const kind = b[p++];
    if (kind === 0) {
      u();
      if (['__cxa_throw', '__cxa_end_catch', '__cxa_rethrow', 'exit'].includes(nm.toString())) {
        fidx2tab.set(fi, next);
        syms.push([nm, next]);
        next++;
        added.push(fi);
      }
      fi++;
    } else if (kind === 1) {
      p++;
      const f = u();
      u();
      if (f & 1) u();
    } else if (kind === 2) {
      const f = u();
      u();
      if (f & 1) u();
    } else if (kind === 3) p += 2;
  }
  p = save;
}

const keep = new Set(
  `__wasm_call_ctors __main_argc_argv lean_main __indirect_function_table malloc free calloc
 emscripten_builtin_memalign emscripten_builtin_free pthread_attr_init pthread_attr_setstacksize pthread_create pthread_self _emscripten_tls_init
 _emscripten_thread_init _emscripten_thread_exit _emscripten_thread_crashed _emscripten_thread_free_data
 emscripten_stack_set_limits emscripten_stack_get_base emscripten_stack_get_end emscripten_stack_get_current emscripten_stack_init
 _emscripten_stack_restore _emscripten_stack_alloc setThrew _emscripten_tempret_set emscripten_get_sbrk_ptr
 __cxa_can_catch __cxa_get_exception_ptr __cxa_increment_exception_refcount __cxa_decrement_exception_refcount
 __funcs_on_exit fflush _emscripten_check_mailbox`.split(/\s+/),
);
const kept = [];
for (const e of ex) {
  const name = e.nb.toString('latin1');
  if (e.kind === 0) {
    let t = fidx2tab.get(e.idx);
    if (t === undefined) {
      t = next++;
      added.push(e.idx);
      fidx2tab.set(e.idx, t);
    }
    syms.push([e.nb, t]);
    if (keep.has(name)) kept.push(e);
  } else if (e.kind === 3) {
    const v = gl[e.idx - nimpG];
    if (v !== null) syms.push([e.nb, v]);
    if (name === '__stack_pointer') kept.push(e);
  } else if (e.kind === 1) kept.push(e);
}
// syms.bin: open addressing, u32 size(pow2), then size*(h1,h2,value)
let size = 1;
while (size < syms.length * 1.4) size *= 2;
const tab = new Uint32Array(3 * size);
const FNV = (nb, h) => {
  for (let i = 0; i < nb.length; i++) {
    h ^= nb[i];
    h = Math.imul(h, 16777619);
  }
  return h >>> 0;
};
for (const [nb, v] of syms) {
  const h1 = FNV(nb, 2166136261),
    h2 = (FNV(nb, 0x9747b28c) | 1) >>> 0;
  let i = h1 & (size - 1);
  while (tab[3 * i + 1]) i = (i + 1) & (size - 1);
  tab[3 * i] = h1;
  tab[3 * i + 1] = h2;
  tab[3 * i + 2] = v >>> 0;
}
fs.writeFileSync(SYMS, Buffer.from(tab.buffer));
// ---- semantic patches (byte patterns must match exactly once)
function find1(hex) {
  const x = Buffer.from(hex.replace(/ /g, ''), 'hex');
  const i = b.indexOf(x);
  if (i < 0 || b.indexOf(x, i + 1) >= 0) throw Error('pattern not unique: ' + hex);
  return i;
}
function rep(hex, to) {
  const i = find1(hex),
    y = Buffer.from(to.replace(/ /g, ''), 'hex');
  y.copy(b, i);
}
// (1) processHeaderCore: ignore `isEmscripten`, choose the import level from the file header (module: exported, otherwise private)
rep(
  '41f494ca00 2d0000 45 0440 2002 45 0440 4102 210c 0c02',
  '4181808000 010101 01 0440 2002 45 0440 4102 210c 0c02',
);
// (1b) finalizeImport: do not replace the IR data of all modules by empty data
rep('41ec94c200 2d0000 45 0440 0240 2008 4100 4a 0440', '4181808000 010101 01 0440 0240 2008 4100 4a 0440');
// (2) finalizeImport: when the .ir part of a module is missing use the .olean data (signatures; code is native in the wasm)
const F = (n) => {
  const e = ex.find((e) => e.kind === 0 && e.nb.toString('latin1') === n);
  if (!e) throw Error('no export ' + n);
  return e.idx;
};
const fInterp = F('l___private_Lean_Environment_0__Lean_ImportedModule_interpData_x3f'),
  fMainMod = F('l___private_Lean_Environment_0__Lean_ImportedModule_mainModule_x3f');
p = sec(3).p;
const nfun = u();
const nimpF = countImports(0);
const newF = nimpF + nfun;
{
  const call = [0x20, 5, 0x20, 0, 0x10, ...leb(fInterp), 0x22, 4],
    to = [0x20, 5, 0x20, 0, 0x10, ...leb(newF), 0x22, 4];
  if (call.length !== to.length) throw Error('leb len');
  rep(Buffer.from(call).toString('hex'), Buffer.from(to).toString('hex'));
}
let tyInterp;
{
  let i = nimpF;
  while (i <= fInterp) {
    tyInterp = u();
    i++;
  }
}
const newBody = [
  1,
  1,
  0x7f,
  0x20,
  0,
  0x28,
  2,
  0,
  0x22,
  2,
  0x41,
  0,
  0x4a,
  0x04,
  0x40,
  0x20,
  0,
  0x20,
  2,
  0x41,
  1,
  0x6a,
  0x36,
  2,
  0,
  0x05,
  0x20,
  2,
  0x41,
  0,
  0x48,
  0x04,
  0x40,
  0x20,
  0,
  0x41,
  1,
  0xfe,
  0x25,
  2,
  0,
  0x1a,
  0x0b,
  0x0b,
  0x20,
  0,
  0x20,
  1,
  0x10,
  ...leb(fInterp),
  0x22,
  2,
  0x41,
  1,
  0x46,
  0x04,
  0x7f,
  0x20,
  0,
  0x10,
  ...leb(fMainMod),
  0x05,
  0x20,
  2,
  0x0b,
  0x0b,
];
// (3) exit code of lean_shell_main: the C++ shell unboxes the UInt32 as on 64-bit; on wasm32 it is a heap object
const fGet = F('_ZN4lean20get_io_scalar_resultIjEET_P11lean_object');
const slotGet = fidx2tab.get(fGet);
if (!(slotGet >= base && slotGet < base + ne)) throw Error('get_io_scalar_result is not in the table');
const getBody = [
  1,
  1,
  0x7f,
  0x20,
  0,
  0x28,
  2,
  8,
  0x21,
  1,
  0x20,
  1,
  0x41,
  1,
  0x71,
  0x20,
  0,
  0x2d,
  0,
  7,
  0x72,
  0x04,
  0x7f,
  0x20,
  0,
  0x10,
  ...leb(fGet),
  0x05,
  0x20,
  1,
  0x28,
  2,
  8,
  0x0b,
  0x0b,
];
let tyGet;
{
  p = sec(3).p;
  u();
  let i = nimpF;
  while (i <= fGet) {
    tyGet = u();
    i++;
  }
}
// rewrite
const chunks = [b.subarray(0, 8)];
const put = (id, body) => {
  const l = body.reduce((a, x) => a + x.length, 0);
  chunks.push(Buffer.from([id, ...leb(l)]), ...body);
};
for (const s of secs) {
  if (s.id === 4) {
    p = s.p;
    if (u() !== 1) throw Error('table');
    const et = b[p++];
    const fl = u();
    u();
    if (fl !== 0) throw Error('tablefl');
    put(4, [Buffer.from([1, et, 0, ...leb(next)])]);
  } else if (s.id === 7) {
    const body = [Buffer.from(leb(kept.length))];
    for (const e of kept) {
      body.push(Buffer.from(leb(e.nb.length)), e.nb, Buffer.from([e.kind, ...leb(e.idx)]));
    }
    put(7, body);
  } else if (s.id === 9) {
    p = s.p;
    u();
    const rest = b.subarray(p, s.p + s.n);
    const o = [];
    for (const f of added) o.push(...leb(f));
    const off = base + ne;
    const sl = [];
    {
      let n = off;
      for (;;) {
        const x = n & 127;
        n >>= 7;
        if (n === 0 && !(x & 64)) {
          sl.push(x);
          break;
        }
        sl.push(x | 128);
      }
    }
    put(9, [
      Buffer.from([3]),
      rest,
      Buffer.from([0, 0x41, ...sl, 0x0b, ...leb(added.length)]),
      Buffer.from(o),
      Buffer.from([0, 0x41, slotGet, 0x0b, 1, ...leb(newF + 1)]),
    ]);
    if (slotGet > 63) throw Error('slot');
  } else if (s.id === 3) {
    p = s.p;
    u();
    put(3, [
      Buffer.from(leb(nfun + 2)),
      b.subarray(p, s.p + s.n),
      Buffer.from([...leb(tyInterp), ...leb(tyGet)]),
    ]);
  } else if (s.id === 10) {
    p = s.p;
    u();
    put(10, [
      Buffer.from(leb(nfun + 2)),
      b.subarray(p, s.p + s.n),
      Buffer.from([...leb(newBody.length), ...newBody, ...leb(getBody.length), ...getBody]),
    ]);
  } else if (s.id === 2) {
    // imports: raise the declared memory maximum to 4 GiB
    p = s.p;
    const c = u();
    const body = [Buffer.from(leb(c))];
    let done = false;
    for (let i = 0; i < c; i++) {
      const st = p;
      let l = u();
      p += l;
      l = u();
      p += l;
      const hd = b.subarray(st, p);
      const ks = p;
      const kind = b[p++];
      if (kind === 0) u();
      else if (kind === 1) {
        p++;
        const f = u();
        u();
        if (f & 1) u();
      } else if (kind === 3) p += 2;
      else if (kind === 2) {
        const f = u(),
          mn = u(),
          mx = u();
        if (f !== 3) throw Error('mem flags');
        body.push(hd, Buffer.from([2, 3, ...leb(mn), ...leb(65536)]));
        done = true;
        continue;
      }
      body.push(hd, b.subarray(ks, p));
    }
    if (!done) throw Error('no memory import');
    put(2, body);
  } else put(s.id, [b.subarray(s.p, s.p + s.n)]);
}
const fd = fs.openSync(OUT, 'w');
for (const c of chunks) fs.writeSync(fd, c);
fs.closeSync(fd);
console.log(
  'kept exports',
  kept.length,
  'table',
  next,
  'added',
  added.length,
  'syms',
  syms.length,
  'hash size',
  size,
);
