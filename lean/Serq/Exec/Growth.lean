import Serq.Exec.Command
/-!
# Growth and preemption
-/

namespace Serq

/-- The hold's allocation on `p` changed by `f`. -/
def modAlloc (p : Nat) (f : Alloc → Alloc) : List Alloc → List Alloc
  | [] => []
  | a :: as => if a.pool = p then f a :: as else a :: modAlloc p f as

/-- A stack whose innermost hold on `p` has its allocation there changed by `f`, and has grown. -/
def modInnermost (p : Nat) (f : Alloc → Alloc) : List Frame → List Frame
  | [] => []
  | .seq k :: st => .seq k :: modInnermost p f st
  | .hold r k :: st => match findAlloc p r.allocs with
    | none => .hold r k :: modInnermost p f st
    | some _ => .hold { r with allocs := modAlloc p f r.allocs, grown := true } k :: st

/-- The allocations of one hold with that on `p` changed by `f`; none without one. -/
def modFirst (p : Nat) (f : Alloc → Alloc) : List Alloc → Option (List Alloc)
  | [] => none
  | [a] => if a.pool = p then some [f a] else none
  | [a, b] =>
    if a.pool = p then some [f a, b] else if b.pool = p then some [a, f b] else none
  | a :: as =>
    if a.pool = p then some (f a :: as)
    else match modFirst p f as with
      | none => none
      | some rest => some (a :: rest)

/-- Looking and changing in one go. -/
theorem modFirst_eq (p : Nat) (f : Alloc → Alloc) (l : List Alloc) :
    modFirst p f l = (findAlloc p l).map fun _ => modAlloc p f l := by
  fun_induction modFirst p f l <;> simp_all [findAlloc, modAlloc]
  rename_i found _
  obtain ⟨⟨x, h⟩, _⟩ := found
  simp [h]

/-- A stack changed by looking and changing in one go. -/
def modInnermostFast (p : Nat) (f : Alloc → Alloc) : List Frame → List Frame
  | [] => []
  | .seq k :: st => .seq k :: modInnermostFast p f st
  | .hold r k :: st => match modFirst p f r.allocs with
    | none => .hold r k :: modInnermostFast p f st
    | some allocs => .hold { r with allocs := allocs, grown := true } k :: st

/-- Looking and changing in one go changes nothing else. -/
@[csimp] theorem modInnermost_eq_modInnermostFast : @modInnermost = @modInnermostFast := by
  funext p f l
  induction l with
  | nil => rfl
  | cons x st ih =>
    cases x with
    | seq k => simp [modInnermost, modInnermostFast, ih]
    | hold r k =>
      simp only [modInnermost, modInnermostFast, modFirst_eq, ih]
      cases findAlloc p r.allocs <;> rfl

/-- Session `i`'s innermost hold on `p` has `need` more units. -/
@[inline] def addUnits (m : Machine) (i p need : Nat) : Machine :=
  m.modSess i fun s =>
    { s with stack := modInnermost p (fun a => { a with units := a.units + need }) s.stack }

/-- Session `i`'s innermost hold on `p` reaches position `x`. -/
@[inline] def moveTo (m : Machine) (i p x : Nat) : Machine :=
  m.modSess i fun s =>
    { s with stack := modInnermost p (fun a => { a with pos := x }) s.stack }

/-- The tokens that a batch gives session `i`'s run growing `p`. -/
def grownBy (i p : Nat) : List Entry → Nat
  | [] => 0
  | e :: es => if e.owner = i ∧ e.growing = some p then e.tokens + grownBy i p es else grownBy i p es

/-- How far session `i`'s innermost hold on `p` has computed, without the running batch. -/
def computedPos (m : Machine) (i p : Nat) : Nat :=
  match innermost p (m.at_ i).stack with
  | none => 0
  | some a => a.pos - grownBy i p m.plan.batch

/-- What the preemption keys of pool `p` read of a candidate; `place` is its place among the
candidates in admission order. -/
def victimEnv (D : Deployment) (m : Machine) (p place : Nat) (j : Job) : Env where
  attrs := (m.at_ j.owner).attrs
  ctx c := match c with
    | .Now => m.now
    | .Decoding => bit (j.mode = .Decode)
    | .Admission => place
    | .Position => computedPos m j.owner p
    | _ => 0
  pool := m.poolQuery D j.owner
  stage := m.stageQuery D 0

/-- The residents that hold pool `p`, in admission order. -/
def candidates (m : Machine) (p : Nat) : List Job → List Job
  | [] => []
  | j :: js => match innermost p (m.at_ j.owner).stack with
    | none => candidates m p js
    | some _ => j :: candidates m p js

/-- The candidate with the least keys, the one admitted last among equals. -/
def leastVictim (D : Deployment) (m : Machine) (p : Nat) (keys : List Expr) :
    Nat → Job → List Int → List Job → Job
  | _, best, _, [] => best
  | n, best, kb, j :: js =>
    let kj := keysOf (victimEnv D m p n j) keys
    if keysLt kb kj then leastVictim D m p keys (n + 1) best kb js
    else leastVictim D m p keys (n + 1) j kj js

/-- Whom a growth on pool `p` preempts. -/
def victim (D : Deployment) (m : Machine) (p : Nat) : Option Nat :=
  match (D.pool p).preempt with
  | [] => none
  | keys => match candidates m p m.jobs with
    | [] => none
    | j :: js =>
      some (leastVictim D m p keys 1 j (keysOf (victimEnv D m p 0 j) keys) js).owner

/-- The jobs without session `i`'s. -/
def removeJob (i : Nat) : List Job → List Job
  | [] => []
  | j :: js => if j.owner = i then removeJob i js else j :: removeJob i js

/-- The batch without session `i`'s tokens. -/
def removeEntry (i : Nat) : List Entry → List Entry
  | [] => []
  | e :: es => if e.owner = i then removeEntry i es else e :: removeEntry i es

/-- The tokens that the batch gives session `i`. -/
def tokensOf (i : Nat) : List Entry → Nat
  | [] => 0
  | e :: es => if e.owner = i then e.tokens + tokensOf i es else tokensOf i es

/-- The same, two entries a step. -/
def tokensOfFast (i : Nat) : List Entry → Nat
  | [] => 0
  | [e] => if e.owner = i then e.tokens else 0
  | d :: e :: es =>
    if d.owner = i then
      if e.owner = i then d.tokens + (e.tokens + tokensOfFast i es)
      else d.tokens + tokensOfFast i es
    else if e.owner = i then e.tokens + tokensOfFast i es
    else tokensOfFast i es

/-- The steps taken together are the steps. -/
@[csimp] theorem tokensOf_eq_tokensOfFast : @tokensOf = @tokensOfFast := by
  funext i l
  fun_induction tokensOfFast i l <;> simp_all [tokensOf]

/-- Session `i` is unwound to its innermost hold on `p`, which it will execute again: every hold on
the way is released with its position cached. -/
def unwind (D : Deployment) (p i : Nat) : List Frame → Machine → Machine
  | [], m => m.modSess i fun s => { s with stack := [] }
  | .seq _ :: st, m => unwind D p i st m
  | .hold r _ :: st, m =>
    let m := releaseHold D i r true m
    match findAlloc p r.allocs with
    | none => unwind D p i st m
    | some _ => m.modSess i fun s => { s with prog := r.stmt, stack := st }

/-- The plan without session `i`, whose tokens return to the budget. -/
def withoutVictim (i : Nat) (plan : Plan) : Plan :=
  { plan with
    batch := removeEntry i plan.batch
    left := plan.left + tokensOf i plan.batch
    victims := plan.victims ++ [i]
    preempts := plan.preempts + 1 }

/-- Session `i`, a resident that holds `p`, is preempted. `computed` tells the hold how far it was;
tokens that this iteration had given it return to the budget, and it has not computed them. -/
def preempt (D : Deployment) (p i : Nat) (m : Machine) : Machine :=
  let x := computedPos m i p
  let m := moveTo (m.setAttr i D.slotComputed x) i p x
  let m := { m with jobs := removeJob i m.jobs, plan := withoutVictim i m.plan }
  tally (enqueue D (unwind D p i (m.at_ i).stack m) i (!(D.pool p).tail)) (·.preempted i x)

/-- Session `i` grows its innermost hold on `p` by `need` units. While there is no room somebody is
preempted. The second part tells whether it has grown: not when nobody can be preempted, or when it
is its own victim. -/
def grow (D : Deployment) (p i need : Nat) : Nat → Machine → Machine × Bool
  | 0, m => ({ m with outOfFuel := true }, false)
  | fuel + 1, m =>
    if (m.pool p).used + need ≤ (D.pool p).cap then
      (addUnits (takeUnits (makeRoom D m p need) p need) i p need, true)
    else match victim D m p with
      | none => (m, false)
      | some v =>
        if v = i then (preempt D p v m, false)
        else grow D p i need fuel (preempt D p v m)

end Serq
