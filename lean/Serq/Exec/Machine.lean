import Serq.Exec.Eval
/-!
# The configuration

A `Machine` is the state of a deployment at an instant. What an instant's commands never touch stands
in two records of its own: the `clock` (changed when an event is handled and when an iteration
starts) and the `plan` of the iteration that is being built or run.
-/

namespace Serq

/-- What a hold has taken from one pool: the units, and the position (the consumed prefix until a
growing run advances it). While an iteration runs the position already counts the tokens that the
iteration gives; a preemption takes them back. -/
structure Alloc where
  pool : Nat
  units : Nat
  pos : Nat
  deriving DecidableEq, Inhabited

/-- An active hold; `stmt` is its statement, to be executed again after a preemption. -/
structure HoldRec where
  allocs : List Alloc
  grown : Bool
  cache : Option Expr
  stmt : Block
  deriving Inhabited

/-- What stands below the running block: the rest of an enclosing block, or the end of a hold. -/
inductive Frame
  | seq (k : Block)
  | hold (rec : HoldRec) (k : Block)
  deriving Inhabited

/-- What a session does: it has not arrived, runs commands, waits for admission, has a job at the
engine, is in service at a delay or fifo stage until event `seq`, waits for a fifo server, or has
ended. -/
inductive Status
  | unborn | ready | queued | engine | serving (seq : Nat) | waiting | ended
  deriving DecidableEq, Inhabited

/-- The admission number of a session that was never admitted: it stands behind all others. -/
def neverAdmitted : Nat := 18446744073709551615

/-- A session. `turns = none`: it brings no turn data. `adm` is the number of its latest admission,
`joined` the time at which it joined its queue, `front` says that it was put back at the head, `snap`
are its attributes at its latest release. -/
structure Sess where
  serial : Nat
  attrs : Array Nat
  turns : Option (List (List (Nat × Nat)))
  prog : Block
  stack : List Frame
  status : Status
  adm : Nat
  joined : Nat
  front : Bool
  snap : Array Nat

instance : Inhabited Sess := ⟨⟨0, #[], none, .Done, [], .ended, 0, 0, false, #[]⟩⟩

/-- A cached prefix of session `owner`; a dead one can no longer be used. -/
structure CacheEntry where
  owner : Nat
  dead : Bool
  size : Nat
  last : Nat
  seq : Nat
  deriving DecidableEq, Inhabited

/-- The state of a pool: allocated units, cached prefixes, the sessions of its allocations in admission
order (a session with two holds stands there twice), waiting sessions in the order they joined. -/
structure PoolSt where
  used : Nat := 0
  entries : List CacheEntry := []
  holders : List Nat := []
  queue : List Nat := []
  deriving DecidableEq, Inhabited

/-- The state of a fifo stage: busy servers, and who waits with how much work. -/
structure StageSt where
  busy : Nat := 0
  waiting : List (Nat × Nat) := []
  deriving DecidableEq, Inhabited

/-- A resident of the engine. `adm` is its session's admission number. -/
structure Job where
  owner : Nat
  adm : Nat
  mode : Mode
  left : Nat
  growing : Option Nat
  deriving DecidableEq, Inhabited

/-- What an iteration gives one resident, whether its run ends with it, the pool that it computes
into, and what the iteration's cost reads of it: the units it holds on the engine's memory and, for a
prefill, twice the attention work. -/
structure Entry where
  owner : Nat
  mode : Mode
  tokens : Nat
  ends : Bool
  growing : Option Nat
  kv : Nat
  attn2 : Nat
  deriving DecidableEq, Inhabited

/-- The end of a service at a delay or fifo stage. -/
structure Due where
  time : Nat
  seq : Nat
  owner : Nat
  stage : Nat
  deriving DecidableEq, Inhabited

/-- An observation. -/
structure Obs where
  name : Nat
  serial : Nat
  time : Nat
  value : Nat
  deriving DecidableEq, Inhabited

/-- Where a session stood as it was preempted: its position in the engine's memory. -/
structure Mark where
  owner : Nat
  pos : Nat
  deriving DecidableEq, Inhabited

/-- A session that was refused because it asked pool `pool` for more than its cap; `viaEngine` says
that the queue it would have joined is one that the engine admits. -/
structure Rejection where
  pool : Nat
  viaEngine : Bool
  deriving DecidableEq, Inhabited

/-- What is counted for claims beside the preemptions, which the plan counts. `marks`: where each
session stood at its latest preemption, until its hold ends; `undone`: the preempted sessions that
wait to be admitted again; `stuckOnes`: the sessions that were preempted again without getting
further; `recomputed`: the units that sessions admitted again had to compute anew. -/
structure Counters where
  rejections : List Rejection := []
  marks : List Mark := []
  undone : List Mark := []
  stuckOnes : List Nat := []
  recomputed : Nat := 0
  deriving DecidableEq, Inhabited

/-- What a batch consists of; `attention2` is twice the attention work. -/
structure IterStats where
  tokens : Nat := 0
  prefilled : Nat := 0
  decoders : Nat := 0
  kvDecode : Nat := 0
  kvPrefill : Nat := 0
  attention2 : Nat := 0
  deriving DecidableEq, Inhabited

/-- A pool as an iteration starts. -/
structure PoolRec where
  queued : Nat
  holders : Nat
  used : Nat
  deriving DecidableEq, Inhabited

/-- The record of an iteration, written as it starts, its batch formed. `served` counts the tokens of
the earlier iterations, `demand` what the residents could take if the budget were unlimited, `batch`
the tokens of each served session in serving order, `admitted` who was admitted with how much cached,
`preempts` and `counters` what has been counted up to now. -/
structure IterRec where
  start : Nat := 0
  served : Nat := 0
  tokens : Nat := 0
  prefilled : Nat := 0
  decoders : Nat := 0
  kvDecode : Nat := 0
  kvPrefill : Nat := 0
  attention2 : Nat := 0
  residents : Nat := 0
  demand : Nat := 0
  arrived : Nat := 0
  batch : List (Nat × Nat) := []
  admitted : List (Nat × Nat) := []
  preempted : List Nat := []
  pools : List PoolRec := []
  preempts : Nat := 0
  counters : Counters := {}
  deriving DecidableEq, Inhabited

/-- Pool `p` as the iteration starts. -/
def IterRec.pool (r : IterRec) (p : Nat) : PoolRec := Lst.nth default r.pools p

/-- Time and what only events change: the clock, the next arrival (time, event number) and the gaps
after it, how many sessions have arrived, the end of the running iteration (time, event number), the
tokens scheduled so far, the number of iterations and the record of the latest one. -/
structure Clock where
  now : Nat := 0
  arrival : Option (Nat × Nat) := none
  gaps : List Nat := []
  arrived : Nat := 0
  iterEnd : Option (Nat × Nat) := none
  served : Nat := 0
  iters : Nat := 0
  last : IterRec := {}
  deriving Inhabited

/-- The iteration being built or run: its batch, the budget left, whom it preempted and whom it
admitted with how much cached. -/
structure Plan where
  batch : List Entry := []
  left : Nat := 0
  victims : List Nat := []
  entered : List (Nat × Nat) := []
  preempts : Nat := 0
  deriving Inhabited

/-- The state of a deployment. `dues` are the services in progress, earliest first; `obs` the
observations, latest first; `outOfFuel` says that some recursion was cut short, so that nothing may
be concluded from this machine. -/
structure Machine where
  clock : Clock
  plan : Plan
  sess : Array Sess
  pools : List PoolSt
  stages : List StageSt
  jobs : List Job
  obs : List Obs
  ready : List Nat
  dues : List Due
  nextAdm : Nat
  nextRel : Nat
  nextEvent : Nat
  rejected : Nat
  outOfFuel : Bool
  counters : Counters := {}

instance : Inhabited Machine :=
  ⟨{}, {}, #[], [], [], [], [], [], [], 0, 0, 0, 0, false, {}⟩

/-- The counters changed by `f`. -/
@[inline] def tally (m : Machine) (f : Counters → Counters) : Machine := { m with counters := f m.counters }

/-- Pool `p` of the program. A pool that is not declared has no room. -/
@[inline] def Deployment.pool (D : Deployment) (p : Nat) : Pool := Lst.nth { cap := 0 } D.pools p

/-- The kind of stage `s`. -/
@[inline] def Deployment.stage (D : Deployment) (s : Nat) : StageKind := Lst.nth .Delay D.stages s

namespace Machine

/-- The time. -/
abbrev now (m : Machine) : Nat := m.clock.now

/-- Session `i`. -/
@[inline] def at_ (m : Machine) (i : Nat) : Sess := Arr.at! m.sess i

/-- The state of pool `p`. -/
@[inline] def pool (m : Machine) (p : Nat) : PoolSt := Lst.nth {} m.pools p

/-- The state of stage `s`. -/
@[inline] def stage (m : Machine) (s : Nat) : StageSt := Lst.nth {} m.stages s

/-- Session `i` changed by `f`. -/
@[inline] def modSess (m : Machine) (i : Nat) (f : Sess → Sess) : Machine :=
  { m with sess := Arr.mod m.sess i f }

/-- Pool `p` changed by `f`. -/
@[inline] def modPool (m : Machine) (p : Nat) (f : PoolSt → PoolSt) : Machine :=
  { m with pools := Lst.mod f m.pools p }

/-- Stage `s` changed by `f`. -/
@[inline] def modStage (m : Machine) (s : Nat) (f : StageSt → StageSt) : Machine :=
  { m with stages := Lst.mod f m.stages s }

end Machine

/-- The size of session `i`'s usable prefix among the entries of a pool. -/
def ownSize (i : Nat) : List CacheEntry → Nat
  | [] => 0
  | e :: es => if e.owner = i ∧ e.dead = false then e.size else ownSize i es

/-- The units cached in a pool. -/
def sumSizes : List CacheEntry → Nat
  | [] => 0
  | e :: es => e.size + sumSizes es

/-- What the allocations of one hold take of pool `p`. -/
def unitsOn (p : Nat) : List Alloc → Nat
  | [] => 0
  | a :: as => if a.pool = p then a.units + unitsOn p as else unitsOn p as

/-- The same with one step for the one or two pools that a hold most often has. -/
def unitsOnFast (p : Nat) : List Alloc → Nat
  | [] => 0
  | [a] => if a.pool = p then a.units else 0
  | [a, b] =>
    if a.pool = p then (if b.pool = p then a.units + b.units else a.units)
    else if b.pool = p then b.units else 0
  | a :: as => if a.pool = p then a.units + unitsOnFast p as else unitsOnFast p as

/-- The steps taken together are the steps. -/
@[csimp] theorem unitsOn_eq_unitsOnFast : @unitsOn = @unitsOnFast := by
  funext p l
  fun_induction unitsOnFast p l <;> simp_all [unitsOn]

/-- What a session's holds take of pool `p`, all together. -/
def heldOn (p : Nat) : List Frame → Nat
  | [] => 0
  | .hold r _ :: st => unitsOn p r.allocs + heldOn p st
  | .seq _ :: st => heldOn p st

/-- The same without a step for the end of a stack of one hold. -/
def heldOnFast (p : Nat) : List Frame → Nat
  | [] => 0
  | [.hold r _] => unitsOn p r.allocs
  | .hold r _ :: st => unitsOn p r.allocs + heldOnFast p st
  | .seq _ :: st => heldOnFast p st

/-- The end of a stack holds nothing. -/
@[csimp] theorem heldOn_eq_heldOnFast : @heldOn = @heldOnFast := by
  funext p l
  fun_induction heldOnFast p l <;> simp_all [heldOn]

/-- The allocation on `p` within one hold. -/
def findAlloc (p : Nat) : List Alloc → Option Alloc
  | [] => none
  | a :: as => if a.pool = p then some a else findAlloc p as

/-- The same with one step for the one or two pools that a hold most often has. -/
def findAllocFast (p : Nat) : List Alloc → Option Alloc
  | [] => none
  | [a] => if a.pool = p then some a else none
  | [a, b] => if a.pool = p then some a else if b.pool = p then some b else none
  | a :: as => if a.pool = p then some a else findAllocFast p as

/-- The steps taken together are the steps. -/
@[csimp] theorem findAlloc_eq_findAllocFast : @findAlloc = @findAllocFast := by
  funext p l
  fun_induction findAllocFast p l <;> simp_all [findAlloc]

/-- The allocation of the innermost hold on `p`. -/
def innermost (p : Nat) : List Frame → Option Alloc
  | [] => none
  | .seq _ :: st => innermost p st
  | .hold r _ :: st => match findAlloc p r.allocs with
    | some a => some a
    | none => innermost p st

/-! ## What is counted for claims -/

/-- Where session `i` stood, if it is marked. -/
def findMark (i : Nat) : List Mark → Option Nat
  | [] => none
  | k :: ks => if k.owner = i then some k.pos else findMark i ks

/-- The marks without session `i`'s. -/
def removeMark (i : Nat) : List Mark → List Mark
  | [] => []
  | k :: ks => if k.owner = i then removeMark i ks else k :: removeMark i ks

/-- Session `i` is preempted at position `x`: without having got further than at its last preemption
it is stuck, which is counted once. -/
def Counters.preempted (i x : Nat) (c : Counters) : Counters :=
  let again := match findMark i c.marks with
    | none => false
    | some before => decide (x ≤ before)
  { c with
    marks := ⟨i, x⟩ :: removeMark i c.marks
    undone := ⟨i, x⟩ :: removeMark i c.undone
    stuckOnes := if again && !c.stuckOnes.contains i then i :: c.stuckOnes else c.stuckOnes }

/-- Session `i` is admitted with these allocations. If it had been preempted, it computes anew what
lies between the prefix that it consumes of the engine's memory and the position it had reached. -/
def Counters.admitted (memory : Option Nat) (i : Nat) (allocs : List Alloc) (c : Counters) :
    Counters :=
  match findMark i c.undone with
  | none => c
  | some x =>
    let kept := match memory with
      | none => 0
      | some p => match findAlloc p allocs with
        | none => 0
        | some a => a.pos
    { c with undone := removeMark i c.undone, recomputed := c.recomputed + (x - kept) }

/-- Session `i`'s hold with these allocations ends. -/
def Counters.ended (memory : Option Nat) (i : Nat) (allocs : List Alloc) (c : Counters) : Counters :=
  match memory with
  | none => c
  | some p => match findAlloc p allocs with
    | none => c
    | some _ => { c with marks := removeMark i c.marks }

/-- A session is refused. -/
def Counters.refused (r : Rejection) (c : Counters) : Counters :=
  { c with rejections := r :: c.rejections }

/-- The rejections of pool `p`: the sessions that asked it for more than its cap. -/
def rejectedAt (p : Nat) : List Rejection → Nat
  | [] => 0
  | r :: rs => if r.pool = p then rejectedAt p rs + 1 else rejectedAt p rs

/-- The rejections of the engine: the sessions refused at the queues that it admits. -/
def rejectedVia : List Rejection → Nat
  | [] => 0
  | r :: rs => if r.viaEngine then rejectedVia rs + 1 else rejectedVia rs

/-- The tokens that the jobs have left. -/
def sumLeft : List Job → Nat
  | [] => 0
  | j :: js => j.left + sumLeft js

/-- The number of services in progress at stage `s`. -/
def countAt (s : Nat) : List Due → Nat
  | [] => 0
  | d :: ds => if d.stage = s then countAt s ds + 1 else countAt s ds

/-- The number of different sessions in a list. -/
def distinct : List Nat → Nat
  | [] => 0
  | i :: is => (if is.contains i then 0 else 1) + distinct is

/-- Whether a number is in a list. -/
def hasNat (i : Nat) : List Nat → Bool
  | [] => false
  | x :: xs => if i = x then true else hasNat i xs

/-- The library's membership, of numbers. -/
theorem contains_eq_hasNat (i : Nat) (l : List Nat) : l.contains i = hasNat i l := by
  induction l with
  | nil => rfl
  | cons x xs ih => by_cases h : i = x <;> simp_all [hasNat]

/-- The same, comparing numbers as numbers. -/
def distinctFast : List Nat → Nat
  | [] => 0
  | i :: is => if hasNat i is then distinctFast is else distinctFast is + 1

/-- Comparing numbers as numbers is comparing them. -/
@[csimp] theorem distinct_eq_distinctFast : @distinct = @distinctFast := by
  funext l
  induction l with
  | nil => rfl
  | cons i is ih =>
    simp only [distinct, distinctFast, contains_eq_hasNat, ih]
    split <;> omega

/-- The work left of the services in progress at stage `s`. -/
def workAt (now s : Nat) : List Due → Nat
  | [] => 0
  | d :: ds => if d.stage = s then (d.time - now) + workAt now s ds else workAt now s ds

/-- The work of the jobs that wait for a fifo server. -/
def sumWork : List (Nat × Nat) → Nat
  | [] => 0
  | w :: ws => w.2 + sumWork ws

namespace Machine

/-- The queries of pools, as session `i` reads them. -/
def poolQuery (D : Deployment) (m : Machine) (i : Nat) (f : Fun) (p : Nat) : Nat :=
  match f with
  | .Used => (m.pool p).used
  | .Free => (D.pool p).cap - (m.pool p).used
  | .CachedIn => ownSize i (m.pool p).entries
  | .Holders => distinct (m.pool p).holders
  | .Queued => (m.pool p).queue.length
  | _ => 0

/-- The queries of stages; `budget_left` is `left`. -/
def stageQuery (D : Deployment) (m : Machine) (left : Nat) (f : Fun) (s : Nat) : Nat :=
  match f with
  | .BudgetLeft => left
  | .Queue => match D.stage s with
    | .Step => m.jobs.length
    | _ => countAt s m.dues + (m.stage s).waiting.length
  | .Busy => match D.stage s with
    | .Step => match m.clock.iterEnd with
      | none => 0
      | some _ => m.plan.batch.length
    | _ => countAt s m.dues
  | .Work => match D.stage s with
    | .Step => sumLeft m.jobs
    | _ => workAt m.now s m.dues + sumWork (m.stage s).waiting
  | _ => 0

/-- What session `i` reads: its attributes, the clock, how long it has waited, pools and stages. -/
def sessEnv (D : Deployment) (m : Machine) (i left : Nat) : Env where
  attrs := (m.at_ i).attrs
  ctx c := match c with
    | .Now => m.now
    | .Waited => m.now - (m.at_ i).joined
    | _ => 0
  pool := m.poolQuery D i
  stage := m.stageQuery D left

/-- Attribute `slot` of session `i` set to `v`. -/
@[inline] def setAttr (m : Machine) (i slot v : Nat) : Machine :=
  m.modSess i fun s => { s with attrs := Arr.put s.attrs slot v }

end Machine

end Serq
