/-!
# The IR: programs as data

The fragment's part of `serq/ir/nodes.py`, name for name. Three things differ from the Python
dataclasses, all so that the types stay simple inductive ones:

* a block is a chain of statements, each carrying the statement that follows it (`k`); a chain
  ends in `Done` (the end of its block) or in `End` (the end of the session);
* a pool or stage query names its reference field by field; a plain reference has index `Num 0`;
* the fragment divides only under `floor` and `ceil`, so `Call Floor a b` is `floor(a / b)` and
  `Call Ceil a b` is `ceil(a / b)`, with a divisor that is a positive constant.

`Cost` conversions are erased by the translation: they change no number.
-/

namespace Serq

/-- A context variable: a value that the evaluation moment supplies. -/
inductive Ctx
  | Now | Waited | Size | Age | Last | Queued | N
  | Ntok | Ndec | Npre | Nres | Kvb | Kvp | Attn
  | Decoding | Admission | Remaining | Position
  | Admitted | Preempted | Demand | Served | Arrived
  deriving DecidableEq, Repr, Inhabited

/-- A function of two numbers, or a query of a pool or of a stage. -/
inductive Fun
  | Min | Max | Floor | Ceil
  | Queue | Busy | Work | Used | Free | CachedIn | Holders | Queued | BudgetLeft
  deriving DecidableEq, Repr, Inhabited

inductive UnaryOp
  | Neg | Not
  deriving DecidableEq, Repr, Inhabited

inductive BinaryOp
  | Add | Sub | Mul | Lt | Le | Gt | Ge | Eq | Ne | And | Or
  deriving DecidableEq, Repr, Inhabited

inductive Mode
  | Plain | Prefill | Decode
  deriving DecidableEq, Repr, Inhabited

/-- An expression. Its value is a natural number; a key's value is an integer (`Expr.key`). -/
inductive Expr
  | Num (value : Nat)
  | Attr (slot : Nat)
  | CtxVar (name : Ctx)
  | Call (fn : Fun) (left right : Expr)
  | PoolCall (fn : Fun) (base count : Nat) (index : Expr)
  | StageCall (fn : Fun) (base count : Nat) (index : Expr)
  | Unary (op : UnaryOp) (operand : Expr)
  | Binary (op : BinaryOp) (left right : Expr)
  | Cond (test thn orelse : Expr)
  deriving DecidableEq, Repr, Inhabited

/-- Member `base + index` of the pools or stages, one of `count`. -/
structure Ref where
  base : Nat
  count : Nat := 1
  index : Expr := .Num 0
  deriving DecidableEq, Repr, Inhabited

/-- One pool of a hold: the units it takes and the room it must find before it is admitted. -/
structure HoldPool where
  pool : Ref
  units : Expr
  reserve : Option Expr := none
  deriving DecidableEq, Repr, Inhabited

/-- A chain of statements. -/
inductive Block
  | Done
  | End
  | Turn (k : Block)
  | Set (slot : Nat) (expr : Expr) (k : Block)
  | Observe (observe : Nat) (expr : Expr) (k : Block)
  | Hold (pools : List HoldPool) (reuse : Option Expr) (body : Block) (cache : Option Expr)
      (k : Block)
  | Drop (pool : Ref) (k : Block)
  | Release (pool : Ref) (k : Block)
  | Run (stage : Ref) (mode : Mode) (work : Expr) (growing : Option Ref) (k : Block)
  | Branch (guard : Expr) (thn orelse k : Block)
  | Loop (body : Block)
  | While (guard : Expr) (body k : Block)
  | Choose (var : Nat) (count : Expr) (key : List Expr) (k : Block)
  deriving DecidableEq, Repr, Inhabited

/-- A pool. `block = 0`: no blocks. `evict = []`: least recently released first. `preempt = []`:
nobody is preempted. `queue = []`: first come, first served. `admitVia`: the engine admits it in an
iteration; otherwise a waiting hold enters as soon as it fits. -/
structure Pool where
  cap : Nat
  block : Nat := 0
  evict : List Expr := []
  preempt : List Expr := []
  tail : Bool := false
  queue : List Expr := []
  admitVia : Bool := false
  deriving DecidableEq, Repr, Inhabited

/-- What a stage does: `c` servers in arrival order, every job on its own, or an engine. -/
inductive StageKind
  | Fifo (servers : Nat)
  | Delay
  | Step
  deriving DecidableEq, Repr, Inhabited

/-- The resources of a program: its pools, its stages and its (only) engine. `budget` is the
engine's `tokens cap`; `chunk` is read as an iteration starts, 0 is no cap; `cost` is read after the
batch is formed; `memory` is the pool on the engine's device; `serve` are the keys of `advance
running` (none: admission order); `only` says whom an iteration serves. The last five fields are the
attribute slots that the language itself sets. -/
structure Deployment where
  pools : List Pool := []
  stages : List StageKind := [.Step]
  budget : Nat := 0
  chunk : Expr := .Num 0
  cost : Expr := .Num 1
  memory : Option Nat := none
  serve : List Expr := []
  only : Option Expr := none
  slotCached : Nat := 0
  slotSerial : Nat := 1
  slotTurn : Nat := 2
  slotMore : Nat := 6
  slotComputed : Nat := 8
  deriving DecidableEq, Repr, Inhabited

/-- Who comes, and with what. Session `i` starts with the pairs (slot, value) of `init`'s entry `i`,
written in order; `turns`, when it has a list for the session, holds the pairs that each of its `Turn`s
loads. `gaps = none`:
all sessions start at time 0. `gaps = some gs`: session `i` starts `gs[i]` after session `i - 1` (the
first after time 0), and a session without a gap never starts. -/
structure Workload where
  init : List (List (Nat × Nat))
  turns : List (Option (List (List (Nat × Nat)))) := []
  gaps : Option (List Nat) := none
  deriving DecidableEq, Repr, Inhabited

end Serq
