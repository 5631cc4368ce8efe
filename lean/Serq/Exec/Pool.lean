import Serq.Exec.Machine
/-!
# Pools: blocks, the prefix cache, eviction, allocation and release
-/

namespace Serq

/-- `u` rounded up to whole blocks; without blocks it stays. -/
@[inline] def roundUp (block u : Nat) : Nat := if block = 0 then u else (u + (block - 1)) / block * block

/-- `u` rounded down to whole blocks; without blocks it stays. -/
@[inline] def roundDown (block u : Nat) : Nat := if block = 0 then u else u / block * block

/-! ## Eviction -/

/-- Least recently released first; of one instant, in release order. -/
def older (a b : CacheEntry) : Bool :=
  if a.last < b.last then true else if a.last = b.last then decide (a.seq < b.seq) else false

/-- The first entry in the order `lt`, and the others. -/
def pickOut (lt : CacheEntry → CacheEntry → Bool) :
    List CacheEntry → Option (CacheEntry × List CacheEntry)
  | [] => none
  | e :: es => match pickOut lt es with
    | none => some (e, [])
    | some (b, rest) => if lt b e then some (b, e :: rest) else some (e, es)

/-- What one eviction takes of an entry of this size when `over` units are missing: all of it
without blocks, one block in steps, or at once as many blocks as are missing. -/
def cutOf (block : Nat) (steps : Bool) (size over : Nat) : Nat :=
  if block = 0 then size
  else
    let c := if steps then block else roundUp block over
    if c ≤ size then c else size

/-- Evicts until `over` more units are free or nothing is cached. -/
def evict (lt : CacheEntry → CacheEntry → Bool) (block : Nat) (steps : Bool) :
    Nat → Nat → List CacheEntry → List CacheEntry
  | 0, _, es => es
  | fuel + 1, over, es =>
    if over = 0 then es
    else match pickOut lt es with
      | none => es
      | some (e, rest) =>
        let c := cutOf block steps e.size over
        evict lt block steps fuel (over - c)
          (if e.size - c = 0 then rest else { e with size := e.size - c } :: rest)

/-- Enough fuel for `evict`: every round removes an entry or a unit. -/
def evictFuel (es : List CacheEntry) : Nat := sumSizes es + es.length + 1

/-- What the eviction keys read of an entry. -/
def evictEnv (D : Deployment) (m : Machine) (e : CacheEntry) : Env where
  attrs :=
    let s := m.at_ e.owner
    if s.status = .ended then s.snap else s.attrs
  ctx c := match c with
    | .Now => m.now
    | .Size => e.size
    | .Age => m.now - e.last
    | .Last => e.last
    | .Queued => bit ((m.at_ e.owner).status = .queued)
    | _ => 0
  pool := m.poolQuery D e.owner
  stage := m.stageQuery D 0

/-- The eviction order of a pool: by its keys and then release order, or least recently released. -/
def evictBefore (D : Deployment) (m : Machine) (p : Nat) (a b : CacheEntry) : Bool :=
  match (D.pool p).evict with
  | [] => older a b
  | keys =>
    let ka := keysOf (evictEnv D m a) keys
    let kb := keysOf (evictEnv D m b) keys
    if keysLt ka kb then true else if ka = kb then decide (a.seq < b.seq) else false

/-- Whether eviction goes block by block: keys may read the size, which a cut changes. -/
def Pool.inSteps (P : Pool) : Bool := !P.evict.isEmpty

/-- Evicts cached prefixes of pool `p` until `need` more units fit or nothing is cached. -/
def makeRoom (D : Deployment) (m : Machine) (p need : Nat) : Machine :=
  let over := (m.pool p).used + sumSizes (m.pool p).entries + need - (D.pool p).cap
  if over = 0 then m
  else m.modPool p fun st =>
    { st with
      entries := evict (evictBefore D m p) (D.pool p).block (D.pool p).inSteps
        (evictFuel st.entries) over st.entries }

/-! ## Allocation -/

/-- The entries without session `i`'s usable prefix. -/
def removeOwn (i : Nat) : List CacheEntry → List CacheEntry
  | [] => []
  | e :: es => if e.owner = i ∧ e.dead = false then removeOwn i es else e :: removeOwn i es

/-- Session `i` consumes `keep` units of its prefix; what it does not consume stays, dead, with the
same age. -/
def consumeOwn (i keep : Nat) : List CacheEntry → List CacheEntry
  | [] => []
  | e :: es =>
    if e.owner = i ∧ e.dead = false then
      if e.size - keep = 0 then consumeOwn i keep es
      else { e with dead := true, size := e.size - keep } :: consumeOwn i keep es
    else e :: consumeOwn i keep es

/-- The list without its first `i`. -/
def removeOne (i : Nat) : List Nat → List Nat
  | [] => []
  | j :: js => if j = i then js else j :: removeOne i js

/-- Pool `p` allocates `units` to session `i`. -/
@[inline] def takeUnits (m : Machine) (p units : Nat) : Machine :=
  m.modPool p fun st => { st with used := st.used + units }

/-- Session `i` enters the holders of a pool with allocation `a`; with a cache clause it consumes its
prefix first. -/
def takeOne (D : Deployment) (i : Nat) (caching : Bool) (m : Machine) (a : Alloc) : Machine :=
  let m := if caching then
      m.modPool a.pool fun st => { st with entries := consumeOwn i a.pos st.entries }
    else m
  let m := makeRoom D m a.pool a.units
  m.modPool a.pool fun st => { st with used := st.used + a.units, holders := st.holders ++ [i] }

/-- All allocations of a hold, in order. -/
def takeAll (D : Deployment) (i : Nat) (caching : Bool) : List Alloc → Machine → Machine
  | [], m => m
  | a :: as, m => takeAll D i caching as (takeOne D i caching m a)

/-! ## Release -/

/-- What a released allocation leaves cached: at most `value` units, at most the position if the hold
has grown and at most the allocation if not, in whole blocks. -/
def keepUnits (block : Nat) (grown : Bool) (value : Option Nat) (a : Alloc) : Nat :=
  match value with
  | none => 0
  | some v =>
    let x := if grown then a.pos else a.units
    roundDown block (if v ≤ x then v else x)

/-- Session `i` gives one allocation back. -/
def giveOne (D : Deployment) (i : Nat) (grown : Bool) (value : Option Nat) (m : Machine)
    (a : Alloc) : Machine :=
  let k := keepUnits (D.pool a.pool).block grown value a
  let m' := m.modPool a.pool fun st =>
    { st with
      used := st.used - a.units
      holders := removeOne i st.holders
      entries :=
        if k = 0 then st.entries
        else removeOwn i st.entries ++ [⟨i, false, k, m.now, m.nextRel⟩] }
  if k = 0 then m' else { m' with nextRel := m'.nextRel + 1 }

/-- Session `i` gives the allocations back, in order. -/
def giveAll (D : Deployment) (i : Nat) (grown : Bool) (value : Option Nat) :
    List Alloc → Machine → Machine
  | [], m => m
  | a :: as, m => giveAll D i grown value as (giveOne D i grown value m a)

/-- The value of a hold's cache clause, read as the session releases. -/
def cacheValue (D : Deployment) (m : Machine) (i : Nat) : Option Expr → Option Nat
  | none => none
  | some e => some (e.eval (m.sessEnv D i 0))

/-- Session `i` releases a hold. `grown` as the hold says, or true after a preemption. -/
def releaseHold (D : Deployment) (i : Nat) (r : HoldRec) (grown : Bool) (m : Machine) : Machine :=
  giveAll D i grown (cacheValue D m i r.cache) r.allocs
    (m.modSess i fun s => { s with snap := s.attrs })

/-- Session `i` releases every hold of a stack, innermost first. -/
def releaseStack (D : Deployment) (i : Nat) : List Frame → Machine → Machine
  | [], m => m
  | .seq _ :: st, m => releaseStack D i st m
  | .hold r _ :: st, m => releaseStack D i st (releaseHold D i r r.grown m)

/-- The session ends: its holds are released, its cached prefixes stay. -/
def endSession (D : Deployment) (m : Machine) (i : Nat) : Machine :=
  (releaseStack D i (m.at_ i).stack m).modSess i fun s =>
    { s with prog := .Done, stack := [], status := .ended }

end Serq
