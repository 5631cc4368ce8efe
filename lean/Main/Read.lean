import Lean.Data.Json
import Serq.Exec
/-!
# Reading a program of the fragment from its JSON

IR version 13. What lies outside the fragment is refused with the reason. Numbers are folded as the
interpreter folds them, in floating point; what then stands in the program is a natural number.
-/

open Lean (Json)

namespace Main

open Serq

/-- A program to run, with the names that its trace is written in. -/
structure Input where
  deployment : Deployment
  workload : Workload
  program : Block
  horizon : Nat
  observes : Array String
  deriving Inhabited

abbrev Read := Except String

/-- How deep expressions and blocks may nest. -/
def depth : Nat := 100000

def num? (j : Json) : Option Float :=
  match j with
  | .num x => some x.toFloat
  | .str "inf" => some (1.0 / 0.0)
  | .str "-inf" => some (-1.0 / 0.0)
  | _ => none

def real (what : String) (j : Json) : Read Float :=
  match num? j with
  | some x => .ok x
  | none => .error s!"{what} is not a number"

/-- A float that is a whole number below 2^53, as a natural. -/
def natural (what : String) (x : Float) : Read Nat :=
  if x < 0.0 then .error s!"{what} is negative: {x}"
  else if x == x.floor && x < 9007199254740992.0 then .ok x.toUInt64.toNat
  else .error s!"{what} is not a whole number: {x}"

def field (j : Json) (name : String) : Read Json :=
  match j.getObjVal? name with
  | .ok v => .ok v
  | .error _ => .error s!"field {name} is missing"

/-- An optional field; `null` and absence are the same. -/
def field? (j : Json) (name : String) : Option Json :=
  match j.getObjVal? name with
  | .ok .null => none
  | .ok v => some v
  | .error _ => none

def index (what : String) (j : Json) : Read Nat := do natural what (← real what j)

def list (what : String) (j : Json) : Read (List Json) :=
  match j with
  | .arr a => .ok a.toList
  | _ => .error s!"{what} is not a list"

/-- The tag and the payload of an enum. -/
def tagged (what : String) (j : Json) : Read (String × Json) :=
  match j with
  | .str s => .ok (s, .null)
  | .obj o => match o.toList with
    | [(k, v)] => .ok (k, v)
    | _ => .error s!"{what} has not one tag"
  | _ => .error s!"{what} is not tagged"

/-! ## Expressions -/

/-- Where an expression stands. -/
structure Place where
  /-- a key may be negative -/
  key : Bool := false
  /-- `budget_left` is the budget of an admission -/
  budget : Bool := false
  /-- the cost of an iteration -/
  cost : Bool := false
  /-- a difference is refused -/
  noSub : Bool := false

/-- A folded number, an expression, or a choice with an infinite arm, which only `min` can read. -/
inductive Val
  | num (x : Float)
  | expr (e : Expr)
  | choice (test : Expr) (thn orelse : Val)

def Val.expr' (at_ : Place) : Val → Read Expr
  | .expr e => .ok e
  | .num x =>
    if x < 0.0 && at_.key then do return .Unary .Neg (.Num (← natural "a number" (-x)))
    else do return .Num (← natural "a number" x)
  | .choice .. => .error "a choice with an infinite arm stands outside min"

def Val.infinite : Val → Bool
  | .num x => x == 1.0 / 0.0
  | .choice .. => true
  | .expr _ => false

/-- The smaller of two values; a choice with an infinite arm becomes a choice between bounds. -/
def minVal (at_ : Place) : Val → Val → Read Val
  | .num u, .num v => .ok (.num (if u < v then u else v))
  | .choice c a b, v => do
    return .expr (.Cond c (← (← minVal at_ a v).expr' at_) (← (← minVal at_ b v).expr' at_))
  | v, .choice c a b => do
    return .expr (.Cond c (← (← minVal at_ v a).expr' at_) (← (← minVal at_ v b).expr' at_))
  | a, b => do
    if a.infinite then return b
    else if b.infinite then return a
    else return .expr (.Call .Min (← a.expr' at_) (← b.expr' at_))

def ctxOf (s : String) : Read Ctx :=
  match s with
  | "Now" => .ok .Now | "Waited" => .ok .Waited | "Size" => .ok .Size | "Age" => .ok .Age
  | "Last" => .ok .Last | "Queued" => .ok .Queued | "Ntok" => .ok .Ntok | "Ndec" => .ok .Ndec
  | "Npre" => .ok .Npre | "Nres" => .ok .Nres | "Kvb" => .ok .Kvb | "Kvp" => .ok .Kvp
  | "Decoding" => .ok .Decoding | "Admission" => .ok .Admission
  | "Remaining" => .ok .Remaining | "Position" => .ok .Position
  | "Attn" => .error "batch.attention stands alone: only its products with an even number are inside"
  | _ => .error s!"context variable {s}"

def boolOf (b : Bool) : Float := if b then 1.0 else 0.0

/-- Arithmetic on folded numbers. -/
def foldBinary (op : String) (a b : Float) : Option Float :=
  match op with
  | "Add" => some (a + b) | "Sub" => some (a - b) | "Mul" => some (a * b) | "Div" => some (a / b)
  | "Lt" => some (boolOf (a < b)) | "Le" => some (boolOf (a ≤ b))
  | "Gt" => some (boolOf (b < a)) | "Ge" => some (boolOf (b ≤ a))
  | "Eq" => some (boolOf (a == b)) | "Ne" => some (boolOf (a != b))
  | "And" => some (boolOf (a != 0.0 && b != 0.0)) | "Or" => some (boolOf (a != 0.0 || b != 0.0))
  | _ => none

def binaryOf (op : String) : Read BinaryOp :=
  match op with
  | "Add" => .ok .Add | "Sub" => .ok .Sub | "Mul" => .ok .Mul | "Lt" => .ok .Lt | "Le" => .ok .Le
  | "Gt" => .ok .Gt | "Ge" => .ok .Ge | "Eq" => .ok .Eq | "Ne" => .ok .Ne | "And" => .ok .And
  | "Or" => .ok .Or
  | "Div" => .error "a division stands outside floor and ceil"
  | _ => .error s!"operator {op}"

def isAttn (j : Json) : Bool :=
  match j.getObjVal? "Ctx" with
  | .ok (.str "Attn") => true
  | _ => false

mutual

/-- An expression at a place. -/
def value (at_ : Place) : Nat → Json → Read Val
  | 0, _ => .error "an expression is too deep"
  | fuel + 1, j => do
    let (tag, x) ← tagged "an expression" j
    match tag with
    | "Num" => return .num (← real "a number" x)
    | "Attr" => return .expr (.Attr (← index "an attribute" x))
    | "Ctx" => return .expr (.CtxVar (← ctxOf (x.getStr?.toOption.getD "?")))
    | "Cost" => match ← list "a cost" x with
      | [_, e] => value at_ fuel e
      | _ => .error "a cost has not two parts"
    | "Unary" => match ← list "a unary operation" x with
      | [.str "Neg", e] => match ← value at_ fuel e with
        | .num v => return .num (-v)
        | .expr e =>
          if at_.key then return .expr (.Unary .Neg e)
          else .error "a negation stands outside a key"
        | .choice .. => .error "a choice with an infinite arm stands outside min"
      | [.str "Not", e] => match ← value at_ fuel e with
        | .num v => return .num (boolOf (v == 0.0))
        | .expr e => return .expr (.Unary .Not e)
        | .choice .. => .error "a choice with an infinite arm stands outside min"
      | _ => .error "a unary operation is not known"
    | "Binary" => match ← list "a binary operation" x with
      | [.str op, a, b] =>
        if at_.cost && op == "Mul" && (isAttn a || isAttn b) then
          match ← value at_ fuel (if isAttn a then b else a) with
          | .num k =>
            return .expr (.Binary .Mul (.Num (← natural "half the factor of batch.attention" (k / 2.0)))
              (.CtxVar .Attn))
          | _ => .error "the factor of batch.attention is not a number"
        else
          let va ← value at_ fuel a
          let vb ← value at_ fuel b
          match va, vb with
          | .num u, .num v => match foldBinary op u v with
            | some r => return .num r
            | none => .error s!"operator {op}"
          | _, _ =>
            let zero := match va, vb with
              | .num u, _ => u == 0.0
              | _, .num v => v == 0.0
              | _, _ => false
            if op == "Mul" && zero then return .num 0.0
            else if op == "Sub" && at_.noSub then .error "a difference in the chunk cap"
            else
              let o ← binaryOf op
              return .expr (.Binary o (← va.expr' at_) (← vb.expr' at_))
      | _ => .error "a binary operation has not two operands"
    | "Cond" => match ← list "a conditional" x with
      | [c, a, b] =>
        let va ← value at_ fuel a
        let vb ← value at_ fuel b
        match ← value at_ fuel c with
        | .num v => return if v == 0.0 then vb else va
        | .expr e =>
          if va.infinite || vb.infinite then return .choice e va vb
          else return .expr (.Cond e (← va.expr' at_) (← vb.expr' at_))
        | .choice .. => .error "a choice with an infinite arm stands outside min"
      | _ => .error "a conditional has not three parts"
    | "Call" => match ← list "a call" x with
      | [.str f, args] => call at_ fuel f (← list "the arguments" args)
      | _ => .error "a call is not known"
    | _ => .error s!"expression {tag}"

/-- A call. -/
def call (at_ : Place) : Nat → String → List Json → Read Val
  | 0, _, _ => .error "an expression is too deep"
  | fuel + 1, f, args =>
    match f, args with
    | "Min", [a, b] => do
      minVal at_ (← value at_ fuel (← field a "Expr")) (← value at_ fuel (← field b "Expr"))
    | "Max", [a, b] => do
      match ← value at_ fuel (← field a "Expr"), ← value at_ fuel (← field b "Expr") with
      | .num u, .num v => return .num (if u > v then u else v)
      | va, vb => return .expr (.Call .Max (← va.expr' at_) (← vb.expr' at_))
    | "Floor", [a] | "Ceil", [a] => do
      let e ← field a "Expr"
      match ← quotient at_ fuel e with
      | some (.num u, d) => return .num (if f == "Floor" then (u / d).floor else (u / d).ceil)
      | some (v, d) =>
        return .expr (.Call (if f == "Floor" then .Floor else .Ceil) (← v.expr' at_)
          (.Num (← natural "a divisor" d)))
      | none => match ← value at_ fuel e with
        | .num u => return .num (if f == "Floor" then u.floor else u.ceil)
        | v => return .expr (← v.expr' at_)
    | "Abs", [a] => do
      match ← value at_ fuel (← field a "Expr") with
      | .num u => return .num u.abs
      | _ => .error "abs of something that is not a constant"
    | "Used", [a] => poolCall at_ fuel .Used a
    | "Free", [a] => poolCall at_ fuel .Free a
    | "CachedIn", [a] => poolCall at_ fuel .CachedIn a
    | "Holders", [a] => poolCall at_ fuel .Holders a
    | "Queued", [a] => poolCall at_ fuel .Queued a
    | "Queue", [a] => stageCall at_ fuel .Queue a
    | "Busy", [a] => stageCall at_ fuel .Busy a
    | "Work", [a] => stageCall at_ fuel .Work a
    | "BudgetLeft", [a] =>
      if at_.budget then stageCall at_ fuel .BudgetLeft a
      else .error "budget_left stands outside the header of a hold that the engine admits"
    | _, _ => .error s!"function {f}"

/-- A quotient by a positive whole constant. -/
def quotient (at_ : Place) : Nat → Json → Read (Option (Val × Float))
  | 0, _ => .error "an expression is too deep"
  | fuel + 1, j => do
    match ← tagged "an expression" j with
    | ("Cost", x) => match ← list "a cost" x with
      | [_, e] => quotient at_ fuel e
      | _ => .error "a cost has not two parts"
    | ("Binary", x) => match ← list "a binary operation" x with
      | [.str "Div", a, b] =>
        match ← value at_ fuel b with
        | .num d =>
          let va ← value at_ fuel a
          match va with
          | .num _ => return some (va, d)
          | _ =>
            if d > 0.0 && d == d.floor then return some (va, d)
            else .error s!"a divisor is not a positive whole number: {d}"
        | _ => .error "a divisor is not a constant"
      | _ => return none
    | _ => return none

def poolCall (at_ : Place) : Nat → Fun → Json → Read Val
  | 0, _, _ => .error "an expression is too deep"
  | fuel + 1, f, a => do
    let r ← field a "Pool"
    let (b, n, ix) ← reference at_ fuel r
    return .expr (.PoolCall f b n ix)

def stageCall (at_ : Place) : Nat → Fun → Json → Read Val
  | 0, _, _ => .error "an expression is too deep"
  | fuel + 1, f, a => do
    let r ← field a "Stage"
    let (b, n, ix) ← reference at_ fuel r
    return .expr (.StageCall f b n ix)

/-- Base, count and index of a reference. -/
def reference (at_ : Place) : Nat → Json → Read (Nat × Nat × Expr)
  | 0, _ => .error "an expression is too deep"
  | fuel + 1, j => do
    let b ← index "a base" (← field j "base")
    let n ← index "a count" (← field j "count")
    match field? j "index" with
    | none => return (b, n, .Num 0)
    | some e => match ← value { at_ with key := false } fuel e with
      | .num x => return (b, n, .Num (← natural "an index" x))
      | v => return (b, n, ← v.expr' {})

end

def expr (at_ : Place) (j : Json) : Read Expr := do (← value at_ depth j).expr' at_

def ref (at_ : Place) (j : Json) : Read Ref := do
  let (b, n, ix) ← reference at_ depth j
  return ⟨b, n, ix⟩

def exprs (at_ : Place) (j : Json) : Read (List Expr) := do (← list "keys" j).mapM (expr at_)

def optional (j : Json) (name : String) (f : Json → Read α) : Read (Option α) :=
  match field? j name with
  | none => .ok none
  | some x => do return some (← f x)

/-! ## Statements -/

/-- What the statements refer to. -/
structure Scope where
  blocks : Array Json
  engine : Option Nat
  memory : Option Nat
  /-- the pools that the engine admits -/
  viaEngine : Nat → Bool
  /-- the statements that every turn runs first -/
  turn : List Json

def readHold (sc : Scope) (x : Json) (body k : Block) : Read Block := do
  if (field? x "lease").isSome then .error "a lease"
  let ps ← list "the pools of a hold" (← field x "pools")
  let first ← match ps with
    | [] => .error "a hold without a pool"
    | p :: _ => match ← list "a pool of a hold" p with
      | r :: _ => index "a base" (← field r "base")
      | [] => .error "a pool of a hold is empty"
  let header : Place := { budget := sc.viaEngine first }
  let pools ← ps.mapM fun p => do
    match ← list "a pool of a hold" p with
    | [r, u, .null] => return ({ pool := ← ref {} r, units := ← expr header u } : HoldPool)
    | [r, u, v] =>
      return { pool := ← ref {} r, units := ← expr header u, reserve := some (← expr header v) }
    | _ => .error "a pool of a hold has not three parts"
  return .Hold pools (← optional x "reuse" (expr header)) body (← optional x "cache" (expr {})) k

def readRun (sc : Scope) (x : Json) (k : Block) : Read Block := do
  match field? x "also" with
  | some (.arr #[]) | none => pure ()
  | some _ => .error "a run over several stages"
  let stage ← ref {} (← field x "stage")
  let mode ← match ← field x "mode" with
    | .str "Plain" => pure Mode.Plain
    | .str "Prefill" => pure .Prefill
    | .str "Decode" => pure .Decode
    | _ => .error "a mode is not known"
  let growing ← optional x "growing" (ref {})
  match growing with
  | none => pure ()
  | some r =>
    if some r.base ≠ sc.memory then .error "a run grows a pool that is not the engine's memory"
  return .Run stage mode (← expr {} (← field x "work")) growing k

mutual

/-- The chain of the statements of a block. -/
def readBlock (sc : Scope) : Nat → Json → Read Block
  | 0, _ => .error "blocks are too deep"
  | fuel + 1, j => do
    let i ← index "a block" j
    match sc.blocks[i]? with
    | none => .error s!"block {i} is missing"
    | some b => readStmts sc fuel (← list "a block" b)

def readStmts (sc : Scope) : Nat → List Json → Read Block
  | 0, _ => .error "blocks are too deep"
  | _, [] => .ok .Done
  | fuel + 1, s :: rest => do
    let (tag, x) ← tagged "a statement" s
    match tag with
    | "End" => return .End
    | "Loop" => return .Loop (← readBlock sc fuel x)
    | "Turn" => return .Turn (← readStmts sc fuel (sc.turn ++ rest))
    | _ =>
      let k ← readStmts sc fuel rest
      match tag with
      | "Set" => match ← list "a set" x with
        | [slot, e] => return .Set (← index "a slot" slot) (← expr {} e) k
        | _ => .error "a set has not two parts"
      | "Observe" => match ← list "an observe" x with
        | [o, e] => return .Observe (← index "an observation" o) (← expr {} e) k
        | _ => .error "an observe has not two parts"
      | "Hold" => readHold sc x (← readBlock sc fuel (← field x "body")) k
      | "Drop" => return .Drop (← ref {} x) k
      | "Release" => return .Release (← ref {} x) k
      | "Run" => readRun sc x k
      | "Branch" => match ← list "a branch" x with
        | [g, a, b] =>
          return .Branch (← expr {} g) (← readBlock sc fuel a) (← readBlock sc fuel b) k
        | _ => .error "a branch has not three parts"
      | "While" => match ← list "a while" x with
        | [g, b] => return .While (← expr {} g) (← readBlock sc fuel b) k
        | _ => .error "a while has not two parts"
      | "Choose" =>
        return .Choose (← index "a slot" (← field x "var")) (← expr {} (← field x "count"))
          (← exprs { key := true } (← field x "key")) k
      | "Fork" | "Join" => .error "a leg of a request"
      | "Grow" => .error "a grow statement"
      | "Load" => .error "a load statement"
      | _ => .error s!"statement {tag}"

end

/-! ## Pools, stages, arrivals -/

def readPool (engine : Option Nat) (j : Json) : Read Pool := do
  let name := (field? j "name").bind (·.getStr?.toOption) |>.getD "?"
  let within {α : Type} (r : Read α) : Read α := match r with
    | .ok v => .ok v
    | .error e => .error s!"pool {name}: {e}"
  within do
    if (field? j "spill").isSome then .error "a spill"
    match field? j "reserve_held" with
    | some (.bool true) => .error "reserve held"
    | _ => pure ()
    let block ← match field? j "block" with
      | none => pure 0
      | some b => natural "the block" (← real "the block" b)
    let evict ← match ← tagged "evict" (← field j "evict") with
      | ("Lru", _) => pure []
      | ("By", ks) => exprs { key := true } ks
      | _ => .error "an eviction order is not known"
    let (preempt, tail) ← match ← tagged "preempt" (← field j "preempt") with
      | ("None", _) => pure ([], false)
      | ("By", x) =>
        let tail := match field? x "tail" with
          | some (.bool b) => b
          | _ => false
        pure (← exprs { key := true } (← field x "keys"), tail)
      | _ => .error "a preemption order is not known"
    let queue ← match field? j "queue" with
      | none => pure []
      | some ks => exprs { key := true, budget := (field? j "admit_via").isSome } ks
    let via ← match field? j "admit_via" with
      | none => pure false
      | some s =>
        if some (← index "a stage" s) = engine then pure true
        else .error "an admission by a stage that is not the engine"
    return {
      cap := ← natural "the capacity" (← real "the capacity" (← field j "cap"))
      block, evict, preempt, tail, queue, admitVia := via }

def readStage (j : Json) : Read StageKind := do
  match ← tagged "a stage" (← field j "kind") with
  | ("Fifo", c) => return .Fifo (← index "the servers" c)
  | ("Step", _) => return .Step
  | ("Ps", e) => match e.getObjVal? "Ctx" with
    | .ok (.str "N") => return .Delay
    | _ => .error "a processor sharing stage"
  | (t, _) => .error s!"stage kind {t}"

def engineOf : List StageKind → Nat → Read (Option Nat)
  | [], _ => .ok none
  | .Step :: rest, i => do
    match ← engineOf rest (i + 1) with
    | none => return some i
    | some _ => .error "more than one engine"
  | _ :: rest, i => engineOf rest (i + 1)

/-- `only` of an engine whose iteration is written out: vLLM's procedure with one predicate. -/
def readIteration (j : Json) : Read (Option Expr) := do
  match field? j "iteration" with
  | none => return none
  | some it => match ← list "an iteration" it with
    | [a, b] =>
      let s ← field a "Serve"
      let ad ← field b "Admit"
      if (field? s "by").isSome then .error "a serving order inside the iteration"
      match field? s "only", field? ad "only", field? ad "gate" with
      | some p, some q, some g =>
        if p.compress ≠ q.compress then .error "two predicates in one iteration"
        let gate := Json.mkObj [("Unary", .arr #[.str "Not", Json.mkObj [("Ctx", .str "Preempted")]])]
        if g.compress ≠ gate.compress then .error "another gate than nobody preempted"
        return some (← expr {} p)
      | _, _, _ => .error "an iteration that is not vLLM's procedure"
    | _ => .error "an iteration that is not vLLM's procedure"

structure Engine where
  budget : Nat := 0
  chunk : Expr := .Num 0
  cost : Expr := .Num 1
  memory : Option Nat := none
  serve : List Expr := []
  only : Option Expr := none

def readEngine (stages : List Json) (engine : Option Nat) : Read Engine := do
  match engine with
  | none => return {}
  | some i => match stages[i]? with
    | none => return {}
    | some s =>
      let c ← field (← field s "kind") "Step"
      if (field? c "granule").isSome then .error "a granule"
      let serve ← match ← tagged "serve" (← field c "serve") with
        | ("By", ks) => exprs { key := true } ks
        | _ => .error "exclusive prefill"
      let budget ← match ← value {} depth (← field c "budget") with
        | .num x => natural "tokens cap" x
        | _ => .error "tokens cap is not a constant"
      return {
        budget, serve
        chunk := ← expr { noSub := true } (← field c "chunk")
        cost := ← expr { cost := true } (← field c "cost")
        memory := ← optional c "memory" (index "the memory")
        only := ← readIteration c }

def readPairs (j : Json) : Read (List (Nat × Nat)) := do
  (← list "presets" j).mapM fun p => do
    match ← list "a preset" p with
    | [s, v] => return (← index "a slot" s, ← natural "a preset" (← real "a preset" v))
    | _ => .error "a preset has not two parts"

/-- The `init` block of explicit sessions: sets, evaluated at time 0 before the presets. -/
def initPairs : Block → Array Nat → List (Nat × Nat) → Read (List (Nat × Nat))
  | .Done, _, acc => .ok acc.reverse
  | .Set s e k, a, acc =>
    let v := e.eval { attrs := a }
    initPairs k (Arr.put a s v) ((s, v) :: acc)
  | _, _, _ => .error "an init block with other statements than sets"

/-- A block followed by another. -/
def followedBy (next : Block) : Block → Read Block
  | .Done => .ok next
  | .Set s e k => do return .Set s e (← followedBy next k)
  | .Observe o e k => do return .Observe o e (← followedBy next k)
  | _ => .error "an init block with other statements than sets"

def readInput (j : Json) (horizon? : Option Json) : Read Input := do
  let version ← index "version" (← field j "version")
  if version ≠ 13 then .error s!"IR version {version}, not 13"
  for f in ["share", "trace"] do
    if (field? j f).isSome then .error s!"the program has a {f}"
  match field? j "registers" with
  | none | some (.arr #[]) => pure ()
  | some _ => .error "an engine with a state"
  let stageJs ← list "stages" (← field j "stages")
  let stages ← stageJs.mapM readStage
  let engine ← engineOf stages 0
  let pools ← (← list "pools" (← field j "pools")).mapM (readPool engine)
  let e ← readEngine stageJs engine
  let slot (f : String) : Read Nat := do index f (← field j f)
  let d : Deployment := {
    pools, stages
    budget := e.budget, chunk := e.chunk, cost := e.cost, memory := e.memory
    serve := e.serve, only := e.only
    slotCached := ← slot "slot_cached", slotSerial := ← slot "slot_serial"
    slotTurn := ← slot "slot_turn", slotMore := ← slot "slot_more"
    slotComputed := ← slot "slot_computed" }
  let blocks := (← list "blocks" (← field j "blocks")).toArray
  let turnIx ← index "turn" (← field j "turn")
  let sc : Scope := {
    blocks, engine
    memory := match e.memory with
      | some p => if (d.pool p).preempt.isEmpty then none else some p
      | none => none
    viaEngine := fun p => (d.pool p).admitVia
    turn := ← match blocks[turnIx]? with
      | some b => list "the turn block" b
      | none => .error "the turn block is missing" }
  let session ← readBlock sc depth (← field j "session")
  let init ← readBlock sc depth (← field j "init")
  let h ← real "horizon" (← match horizon? with
    | some h => pure h
    | none => field j "horizon")
  let horizon ← natural "the horizon" h.floor
  if session.grows && e.cost.eval {} = 0 then
    .error "the cost of an iteration without tokens is 0 and a run may preempt"
  let observes ← (← list "observes" (← field j "observes")).mapM fun o =>
    match o with
    | .str s => .ok s
    | _ => .error "an observation's name is not a text"
  let (w, program) ← match ← tagged "arrival" (← field j "arrival") with
    | ("None", _) => pure (({ init := [] } : Workload), session)
    | ("Sessions", ss) =>
      let ss ← list "sessions" ss
      let mut is : Array (List (Nat × Nat)) := #[]
      let mut ts : Array (Option (List (List (Nat × Nat)))) := #[]
      for s in ss do
        let pairs ← initPairs init (Arr.put #[] d.slotSerial is.size) []
        is := is.push (pairs ++ (← readPairs (← field s "attrs")))
        ts := ts.push (← optional s "turns" fun t => do (← list "turns" t).mapM readPairs)
      pure ({ init := is.toList, turns := ts.toList }, session)
    | ("Batch", n) =>
      pure ({ init := List.replicate (← index "the batch" n) [] }, ← followedBy session init)
    | ("Renewal", g) =>
      match ← value {} depth g with
      | .expr _ | .choice .. => .error "a drawn gap"
      | .num g =>
        let g ← natural "the gap" g
        if g = 0 then .error "a gap of 0"
        let n ← match field? j "arrivals" with
          | some n => index "arrivals" n
          | none => pure (horizon / g)
        let w : Workload :=
          { init := List.replicate n [], gaps := some (List.replicate n g) }
        pure (w, ← followedBy session init)
    | (t, _) => .error s!"arrivals of kind {t}"
  return { deployment := d, workload := w, program, horizon, observes := observes.toArray }

end Main
