import Serq.Thm.Blocks
import Serq.Thm.Evict
/-!
# Memory is never overcommitted

On every path, the allocated and the cached units of every pool fit into its capacity, through
admission, growth, preemption, release and eviction. The one thing a program must do for it: no hold
consumes more of its cached prefix than it takes (`HoldOk`), since a preempted hold caches what it had
consumed. Without a cache clause, or with units at least as large as the reuse, that is so.
-/

namespace Serq

/-! ## What sessions hold -/

/-- What the sessions of a list hold of pool `p`. -/
def sumHeld (p : Nat) : List Sess → Nat
  | [] => 0
  | s :: ss => heldOn p s.stack + sumHeld p ss

/-- What all sessions hold of pool `p`. -/
def heldTotal (p : Nat) (m : Machine) : Nat := sumHeld p m.sess.toList

/-- What all sessions but `i` hold of pool `p`. -/
def heldOthers (p i : Nat) (m : Machine) : Nat :=
  sumHeld p (Lst.mod (fun s => { s with stack := [] }) m.sess.toList i)

/-- After a change of one session all hold at most what the others held and what it holds now. -/
theorem sumHeld_mod (p : Nat) (f : Sess → Sess) (l : List Sess) (i : Nat) :
    sumHeld p (Lst.mod f l i) ≤
      sumHeld p (Lst.mod (fun s => { s with stack := [] }) l i) +
        heldOn p (f (Lst.nth default l i)).stack := by
  induction l generalizing i with
  | nil => simp [Lst.mod, sumHeld]
  | cons s l ih =>
    cases i with
    | zero => simp only [Lst.mod, sumHeld, Lst.nth, heldOn]; omega
    | succ i =>
      simp only [Lst.mod, sumHeld, Lst.nth]
      have := ih i
      omega

/-- What all sessions hold is what the others hold and what one holds. -/
theorem sumHeld_split (p : Nat) (l : List Sess) (i : Nat) :
    sumHeld p l = sumHeld p (Lst.mod (fun s => { s with stack := [] }) l i) +
      heldOn p (Lst.nth default l i).stack := by
  induction l generalizing i with
  | nil => simp [Lst.mod, sumHeld, Lst.nth, default, heldOn]
  | cons s l ih =>
    cases i with
    | zero => simp only [Lst.mod, sumHeld, Lst.nth, heldOn]; omega
    | succ i =>
      simp only [Lst.mod, sumHeld, Lst.nth]
      have := ih i
      omega

/-- What all hold is what the others hold and what one holds. -/
theorem heldTotal_split (p i : Nat) (m : Machine) :
    heldTotal p m = heldOthers p i m + heldOn p (m.at_ i).stack :=
  sumHeld_split p m.sess.toList i

/-- After a change of one session all hold at most what the others held and what it holds now. -/
theorem heldTotal_modSess (p i : Nat) (m : Machine) (f : Sess → Sess) :
    heldTotal p (m.modSess i f) ≤ heldOthers p i m + heldOn p (f (m.at_ i)).stack :=
  sumHeld_mod p f m.sess.toList i

/-- A change of a session that keeps its stack changes nothing of what is held. -/
theorem heldTotal_modSess_le {p i : Nat} {m : Machine} {f : Sess → Sess}
    (h : heldOn p (f (m.at_ i)).stack ≤ heldOn p (m.at_ i).stack) :
    heldTotal p (m.modSess i f) ≤ heldTotal p m := by
  have h1 := heldTotal_modSess p i m f
  have h2 := heldTotal_split p i m
  omega

/-- The same sessions hold the same. -/
theorem heldTotal_eq {p : Nat} {m m' : Machine} (h : m'.sess = m.sess) :
    heldTotal p m' = heldTotal p m := by
  simp [heldTotal, h]

/-- The same others hold the same. -/
theorem heldOthers_eq {p i : Nat} {m m' : Machine} (h : m'.sess = m.sess) :
    heldOthers p i m' = heldOthers p i m := by
  simp [heldOthers, h]

/-- What the others hold does not depend on the session. -/
theorem heldOthers_modSess (p i : Nat) (m : Machine) (f : Sess → Sess) :
    heldOthers p i (m.modSess i f) = heldOthers p i m := by
  have hl : ∀ (l : List Sess) (a : Nat),
      sumHeld p (Lst.mod (fun s => { s with stack := [] }) (Lst.mod f l a) a) =
      sumHeld p (Lst.mod (fun s => { s with stack := [] }) l a) := by
    intro l
    induction l with
    | nil => intro a; simp [Lst.mod]
    | cons s l ih => intro a; cases a <;> simp [Lst.mod, sumHeld, heldOn, ih]
  exact hl _ _

/-! ## The invariant -/

/-- No allocation's position is beyond its units. -/
def AllocsPos (as : List Alloc) : Prop := ∀ a ∈ as, a.pos ≤ a.units

/-- No position in a stack is beyond its units. -/
def StackPos : List Frame → Prop
  | [] => True
  | .seq _ :: st => StackPos st
  | .hold r _ :: st => AllocsPos r.allocs ∧ StackPos st

/-- Allocated and cached units fit, allocations cover what sessions hold, and no position is beyond its
units. -/
structure MemInv (D : Deployment) (m : Machine) : Prop where
  mem : ∀ p, p < m.pools.length →
    (m.pool p).used + sumSizes (m.pool p).entries ≤ (D.pool p).cap
  held : ∀ p, p < m.pools.length → heldTotal p m ≤ (m.pool p).used
  pos : ∀ i, StackPos (m.at_ i).stack

/-- The pools of some allocations are all different. -/
def DistinctPools : List Alloc → Prop
  | [] => True
  | a :: as => (∀ x ∈ as, x.pool ≠ a.pool) ∧ DistinctPools as

/-- What a program must do: no hold consumes more than it takes, or names a pool twice. -/
def HoldOk (D : Deployment) : Block → Prop
  | .Hold pools reuse _ cache _ => ∀ m i left,
      AllocsPos (holdAllocs D m i left pools reuse cache) ∧
      DistinctPools (holdAllocs D m i left pools reuse cache)
  | _ => True

/-- Every hold in a block, at any depth, does what it must. -/
def HoldsOk (D : Deployment) : Block → Prop
  | .Done | .End => True
  | .Turn k | .Set _ _ k | .Observe _ _ k | .Drop _ k | .Release _ k | .Choose _ _ _ k => HoldsOk D k
  | .Run _ _ _ _ k => HoldsOk D k
  | .Hold pools reuse body cache k =>
    HoldOk D (.Hold pools reuse body cache k) ∧ HoldsOk D body ∧ HoldsOk D k
  | .Branch _ a b k => HoldsOk D a ∧ HoldsOk D b ∧ HoldsOk D k
  | .Loop body => HoldsOk D body
  | .While _ body k => HoldsOk D body ∧ HoldsOk D k

/-- That every hold does what it must passes to parts. -/
theorem closed_holdsOk (D : Deployment) : Closed (HoldsOk D) where
  done := trivial
  part := by
    intro a b h hb
    cases h <;> simp only [HoldsOk] at hb <;>
      (first | exact hb | exact hb.1 | exact hb.2.1 | exact hb.2.2 | exact hb.2)

variable {D : Deployment}

/-- A change that leaves pools and sessions alone. -/
theorem MemInv.of_eq {m m' : Machine} (h : MemInv D m) (hs : m'.sess = m.sess)
    (hp : m'.pools = m.pools) : MemInv D m' where
  mem p := by
    have : m'.pool p = m.pool p := by simp [Machine.pool, hp]
    rw [hp, this]
    exact h.mem p
  held p := by
    have : m'.pool p = m.pool p := by simp [Machine.pool, hp]
    rw [hp, this, heldTotal_eq hs]
    exact h.held p
  pos i := by
    have : m'.at_ i = m.at_ i := by simp [Machine.at_, hs]
    rw [this]
    exact h.pos i

/-- A change of a session that holds no more and keeps its positions. -/
theorem MemInv.modSess {m : Machine} (h : MemInv D m) (i : Nat) (f : Sess → Sess)
    (hh : ∀ p, heldOn p (f (m.at_ i)).stack ≤ heldOn p (m.at_ i).stack)
    (hp : StackPos (m.at_ i).stack → StackPos (f (m.at_ i)).stack) : MemInv D (m.modSess i f) where
  mem := h.mem
  held p hlt := Nat.le_trans (heldTotal_modSess_le (hh p)) (h.held p hlt)
  pos j := by
    rw [at_modSess]
    split
    · next hij =>
      obtain ⟨rfl, _⟩ := hij
      exact hp (h.pos i)
    · exact h.pos j

/-- A change of a session that keeps its stack. -/
theorem MemInv.modSame {m : Machine} (h : MemInv D m) (i : Nat) (f : Sess → Sess)
    (hf : (f (m.at_ i)).stack = (m.at_ i).stack) : MemInv D (m.modSess i f) :=
  h.modSess i f (fun p => by rw [hf]; exact Nat.le_refl _) (fun hs => by rw [hf]; exact hs)

/-- A change of a pool that allocates no less, and that fits. -/
theorem MemInv.modPool {m : Machine} (h : MemInv D m) (p : Nat) (f : PoolSt → PoolSt)
    (hu : (f (m.pool p)).used = (m.pool p).used)
    (he : sumSizes (f (m.pool p)).entries ≤ sumSizes (m.pool p).entries) :
    MemInv D (m.modPool p f) where
  mem q hq := by
    have hl : (m.modPool p f).pools.length = m.pools.length := by simp [Machine.modPool]
    rw [hl] at hq
    rw [pool_modPool]
    have := h.mem q hq
    split
    · next hpq =>
      obtain ⟨rfl, _⟩ := hpq
      omega
    · exact this
  held q hq := by
    have hl : (m.modPool p f).pools.length = m.pools.length := by simp [Machine.modPool]
    rw [hl] at hq
    have := h.held q hq
    rw [pool_modPool]
    have hs : heldTotal q (m.modPool p f) = heldTotal q m := heldTotal_eq rfl
    rw [hs]
    split
    · next hpq =>
      obtain ⟨rfl, _⟩ := hpq
      omega
    · exact this
  pos := h.pos

/-- The units of two lists of entries together are their sum. -/
theorem sumSizes_append (a b : List CacheEntry) : sumSizes (a ++ b) = sumSizes a + sumSizes b := by
  induction a with
  | nil => simp [sumSizes]
  | cons e a ih => simp only [List.cons_append, sumSizes, ih]; omega

/-- Without a session's prefix no more is cached. -/
theorem sumSizes_removeOwn (i : Nat) (l : List CacheEntry) :
    sumSizes (removeOwn i l) ≤ sumSizes l := by
  induction l with
  | nil => exact Nat.le_refl _
  | cons e l ih =>
    unfold removeOwn
    split <;> simp only [sumSizes] <;> omega

/-- After a session consumed its prefix no more is cached. -/
theorem sumSizes_consumeOwn (i keep : Nat) (l : List CacheEntry) :
    sumSizes (consumeOwn i keep l) ≤ sumSizes l := by
  induction l with
  | nil => exact Nat.le_refl _
  | cons e l ih =>
    unfold consumeOwn
    split
    · split <;> simp only [sumSizes] <;> omega
    · simp only [sumSizes]; omega

/-! ## Giving back -/

/-- A hold leaves cached no more than it held. -/
theorem keepUnits_le (block : Nat) (grown : Bool) (value : Option Nat) {a : Alloc}
    (h : a.pos ≤ a.units) : keepUnits block grown value a ≤ a.units := by
  unfold keepUnits
  split
  · exact Nat.zero_le _
  · next v =>
    simp only
    refine Nat.le_trans (roundDown_le _ _) ?_
    split <;> split <;> omega

/-- What a pool must have allocated, beside others' holdings `X`, for some allocations to be given
back. -/
def Covers (X : Nat → Nat) (as : List Alloc) (m : Machine) : Prop :=
  ∀ p, p < m.pools.length → X p + unitsOn p as ≤ (m.pool p).used

/-- Allocated and cached units fit. -/
def MemOk (D : Deployment) (m : Machine) : Prop :=
  ∀ p, p < m.pools.length → (m.pool p).used + sumSizes (m.pool p).entries ≤ (D.pool p).cap

/-- Giving one allocation back keeps everything in the capacity, and covers what is still held. -/
theorem giveOne_mem {m : Machine} {X : Nat → Nat} {a : Alloc} {as : List Alloc} (hm : MemOk D m)
    (hc : Covers X (a :: as) m) (ha : a.pos ≤ a.units) (i : Nat) (grown : Bool)
    (value : Option Nat) :
    MemOk D (giveOne D i grown value m a) ∧ Covers X as (giveOne D i grown value m a) := by
  have hk := keepUnits_le (D.pool a.pool).block grown value ha
  -- the pool after the change, whatever is kept
  have hpool : ∀ q, (giveOne D i grown value m a).pool q =
      if a.pool = q ∧ a.pool < m.pools.length then
        { used := (m.pool q).used - a.units
          holders := removeOne i (m.pool q).holders
          queue := (m.pool q).queue
          entries :=
            if keepUnits (D.pool a.pool).block grown value a = 0 then (m.pool q).entries
            else removeOwn i (m.pool q).entries ++
              [⟨i, false, keepUnits (D.pool a.pool).block grown value a, m.now, m.nextRel⟩] }
      else m.pool q := by
    intro q
    unfold giveOne
    simp only
    split
    · rw [pool_modPool]
    · exact pool_modPool m a.pool q _
  have hlen : (giveOne D i grown value m a).pools.length = m.pools.length :=
    (same_giveOne D i grown value m a).pools
  constructor
  · intro q hq
    rw [hlen] at hq
    rw [hpool q]
    have hmq := hm q hq
    have hcq := hc q hq
    split
    · next h =>
      obtain ⟨rfl, _⟩ := h
      have hu : a.units ≤ (m.pool a.pool).used := by
        simp only [unitsOn, if_true] at hcq
        omega
      simp only
      split
      · omega
      · have := sumSizes_removeOwn i (m.pool a.pool).entries
        simp only [sumSizes_append, sumSizes]
        omega
    · exact hmq
  · intro q hq
    rw [hlen] at hq
    rw [hpool q]
    have hcq := hc q hq
    simp only [unitsOn] at hcq
    split
    · next h =>
      obtain ⟨rfl, _⟩ := h
      simp only [if_true] at hcq
      simp only
      omega
    · next h =>
      split at hcq
      · next h' => exact absurd ⟨h', h' ▸ hq⟩ h
      · exact hcq

/-- Giving allocations back keeps everything in the capacity, and covers what is still held. -/
theorem giveAll_mem {m : Machine} {X : Nat → Nat} {as : List Alloc} (hm : MemOk D m)
    (hc : Covers X as m) (ha : AllocsPos as) (i : Nat) (grown : Bool) (value : Option Nat) :
    MemOk D (giveAll D i grown value as m) ∧
      ∀ p, p < m.pools.length → X p ≤ ((giveAll D i grown value as m).pool p).used := by
  induction as generalizing m with
  | nil => exact ⟨hm, fun p hp => by have := hc p hp; simp only [unitsOn] at this; exact this⟩
  | cons a as ih =>
    obtain ⟨h1, h2⟩ := giveOne_mem hm hc (ha a (by simp)) i grown value
    have hlen : (giveOne D i grown value m a).pools.length = m.pools.length :=
      (same_giveOne D i grown value m a).pools
    have := ih h1 h2 fun x hx => ha x (by simp [hx])
    rw [hlen] at this
    exact this

/-- A released hold: what is held beside it is covered, and everything fits. -/
theorem releaseHold_mem {m : Machine} {X : Nat → Nat} {r : HoldRec} (hm : MemOk D m)
    (hc : Covers X r.allocs m) (ha : AllocsPos r.allocs) (i : Nat) (grown : Bool) :
    MemOk D (releaseHold D i r grown m) ∧
      ∀ p, p < m.pools.length → X p ≤ ((releaseHold D i r grown m).pool p).used :=
  giveAll_mem (m := m.modSess i _) hm hc ha i grown _

/-- A release changes of the sessions only the remembered attributes. -/
theorem releaseHold_sess (D : Deployment) (i : Nat) (r : HoldRec) (grown : Bool) (m : Machine) :
    (releaseHold D i r grown m).sess = (m.modSess i fun s => { s with snap := s.attrs }).sess :=
  (giveAll_sess D i grown (cacheValue D m i r.cache) r.allocs _).1

/-- The same sessions are the same session by session. -/
theorem at_eq {m m' : Machine} (h : m'.sess = m.sess) (j : Nat) : m'.at_ j = m.at_ j := by
  simp [Machine.at_, h]

/-- A release changes no stack. -/
theorem releaseHold_at (D : Deployment) (i : Nat) (r : HoldRec) (grown : Bool) (m : Machine)
    (j : Nat) : ((releaseHold D i r grown m).at_ j).stack = (m.at_ j).stack := by
  rw [at_eq (releaseHold_sess D i r grown m), at_modSess]
  split <;> rfl

/-- Session `i` as if its stack were `st`: what it holds there beside the others' holdings is
covered, everything fits, no position is beyond its units. -/
structure Virtual (D : Deployment) (i : Nat) (st : List Frame) (m : Machine) : Prop where
  mem : MemOk D m
  held : ∀ p, p < m.pools.length → heldOthers p i m + heldOn p st ≤ (m.pool p).used
  top : StackPos st
  others : ∀ j, j ≠ i → StackPos (m.at_ j).stack

/-- A machine within bounds, seen from one session. -/
theorem MemInv.toVirtual {m : Machine} (h : MemInv D m) (i : Nat) :
    Virtual D i (m.at_ i).stack m where
  mem := h.mem
  held p hp := by
    rw [← heldTotal_split]
    exact h.held p hp
  top := h.pos i
  others j _ := h.pos j

/-- The session really gets a stack that holds no more. -/
theorem Virtual.toInv {m : Machine} {i : Nat} {st : List Frame} (h : Virtual D i st m)
    (f : Sess → Sess) (hh : ∀ p, heldOn p (f (m.at_ i)).stack ≤ heldOn p st)
    (hp : StackPos (f (m.at_ i)).stack) : MemInv D (m.modSess i f) where
  mem := h.mem
  held p hlt := by
    have h1 := heldTotal_modSess p i m f
    have h2 := h.held p hlt
    have h3 := hh p
    exact Nat.le_trans h1 (Nat.le_trans (Nat.add_le_add_left h3 _) h2)
  pos j := by
    rw [at_modSess]
    split
    · next hij =>
      obtain ⟨rfl, _⟩ := hij
      exact hp
    · next hij =>
      by_cases hj : i = j
      · subst hj
        have hsz : m.sess.size ≤ i := by
          by_cases h' : i < m.sess.size
          · exact absurd ⟨rfl, h'⟩ hij
          · omega
        have : m.at_ i = default := by
          simp only [Machine.at_, Arr.at!, Lst.nth_eq_getD, List.getD_eq_getElem?_getD]
          rw [List.getElem?_eq_none (by simpa using hsz)]
          rfl
        rw [this]
        trivial
      · exact h.others j fun h' => hj h'.symm

/-- A hold on top of the virtual stack is released. -/
theorem Virtual.releaseHold {m : Machine} {i : Nat} {r : HoldRec} {k : Block} {st : List Frame}
    (h : Virtual D i (.hold r k :: st) m) (grown : Bool) :
    Virtual D i st (releaseHold D i r grown m) := by
  have hpools := (same_releaseHold D i r grown m).pools
  have hc : Covers (fun p => heldOthers p i m + heldOn p st) r.allocs m := by
    intro p hp
    have := h.held p hp
    simp only [heldOn] at this
    simp only
    omega
  obtain ⟨h1, h2⟩ := releaseHold_mem h.mem hc h.top.1 i grown
  refine ⟨h1, ?_, h.top.2, ?_⟩
  · intro p hp
    rw [hpools] at hp
    rw [heldOthers_eq (releaseHold_sess D i r grown m), heldOthers_modSess]
    exact h2 p hp
  · intro j hj
    rw [releaseHold_at]
    exact h.others j hj

/-- A block that is left changes nothing of what is held. -/
theorem Virtual.seq {m : Machine} {i : Nat} {k : Block} {st : List Frame}
    (h : Virtual D i (.seq k :: st) m) : Virtual D i st m := ⟨h.mem, h.held, h.top, h.others⟩

/-- Releasing a session's holds one by one stays within bounds. -/
theorem Virtual.releaseStack {m : Machine} {i : Nat} {st : List Frame} (h : Virtual D i st m) :
    Virtual D i [] (releaseStack D i st m) := by
  induction st generalizing m with
  | nil => exact h
  | cons f st ih =>
    cases f with
    | seq k => exact ih h.seq
    | hold r k => exact ih (h.releaseHold r.grown)

/-- Ending a session keeps memory within bounds. -/
theorem MemInv.endSession {m : Machine} (h : MemInv D m) (i : Nat) : MemInv D (endSession D m i) :=
  (h.toVirtual i).releaseStack.toInv _ (fun _ => Nat.le_refl _) trivial

/-- Joining a queue, or being rejected keeps memory within bounds. -/
theorem MemInv.enqueue {m : Machine} (h : MemInv D m) (i : Nat) (front : Bool) :
    MemInv D (enqueue D m i front) := by
  unfold Serq.enqueue
  split
  · simp only
    split
    · exact MemInv.of_eq (MemInv.endSession (by exact h.of_eq rfl rfl) i) rfl rfl
    · exact MemInv.modSame (h.modPool _ _ rfl (Nat.le_refl _)) i _ rfl
  · exact h

/-! ## Taking -/

/-- Rounding up keeps the order. -/
theorem roundUp_mono (b : Nat) {u v : Nat} (h : u ≤ v) : roundUp b u ≤ roundUp b v := by
  unfold roundUp
  split
  · exact h
  · exact Nat.mul_le_mul_right b (Nat.div_le_div_right (by omega))

/-- Room is made for units that fit beside the allocated ones, and they are allocated. -/
theorem room_mem {m : Machine} (hm : MemOk D m) (p units : Nat) (holders : List Nat)
    (hfit : p < m.pools.length → (m.pool p).used + units ≤ (D.pool p).cap) :
    MemOk D ((makeRoom D m p units).modPool p fun st =>
        { st with used := st.used + units, holders := st.holders ++ holders }) ∧
      ∀ q, q < m.pools.length →
        (((makeRoom D m p units).modPool p fun st =>
          { st with used := st.used + units, holders := st.holders ++ holders }).pool q).used =
          (m.pool q).used + (if q = p then units else 0) := by
  have hlen : (makeRoom D m p units).pools.length = m.pools.length :=
    (same_makeRoom D m p units).pools
  constructor
  · intro q hq
    have hq' : q < m.pools.length := by simpa [Machine.modPool, hlen] using hq
    rw [pool_modPool]
    have hmq := hm q hq'
    have hu := makeRoom_used D m p units q
    have hle := makeRoom_le D m p units q
    split
    · next h =>
      obtain ⟨rfl, hp⟩ := h
      have hroom := makeRoom_room D m p units
      have hf := hfit hq'
      simp only
      rcases hroom with hr | hr
      · rw [hr, hu.1]
        simp only [sumSizes]
        omega
      · omega
    · rw [hu.1]
      omega
  · intro q hq
    rw [pool_modPool, hlen]
    have hu := makeRoom_used D m p units q
    split
    · next h =>
      obtain ⟨rfl, _⟩ := h
      simp [hu.1]
    · next h =>
      rw [hu.1]
      by_cases hqp : q = p
      · subst hqp
        exact absurd ⟨rfl, hq⟩ h
      · simp [hqp]

/-- Taking one allocation that fits keeps everything in the capacity. -/
theorem takeOne_mem {m : Machine} (hm : MemOk D m) (i : Nat) (caching : Bool) (a : Alloc)
    (hfit : a.pool < m.pools.length → (m.pool a.pool).used + a.units ≤ (D.pool a.pool).cap) :
    MemOk D (takeOne D i caching m a) ∧
      ∀ q, q < m.pools.length → ((takeOne D i caching m a).pool q).used =
        (m.pool q).used + (if q = a.pool then a.units else 0) := by
  unfold takeOne
  simp only
  split
  · have hm' : MemOk D (m.modPool a.pool fun st =>
        { st with entries := consumeOwn i a.pos st.entries }) := by
      intro q hq
      have hq' : q < m.pools.length := by simpa [Machine.modPool] using hq
      rw [pool_modPool]
      have := hm q hq'
      split
      · next h =>
        obtain ⟨rfl, _⟩ := h
        have := sumSizes_consumeOwn i a.pos (m.pool a.pool).entries
        simp only
        omega
      · exact this
    have hused : ∀ q, ((m.modPool a.pool fun st =>
        { st with entries := consumeOwn i a.pos st.entries }).pool q).used = (m.pool q).used := by
      intro q
      rw [pool_modPool]
      split <;> rfl
    have hlen : (m.modPool a.pool fun st =>
        { st with entries := consumeOwn i a.pos st.entries }).pools.length = m.pools.length := by
      simp [Machine.modPool]
    obtain ⟨h1, h2⟩ := room_mem hm' a.pool a.units [i] (by rw [hused, hlen]; exact hfit)
    refine ⟨h1, fun q hq => ?_⟩
    rw [h2 q (by rw [hlen]; exact hq), hused]
  · exact room_mem hm a.pool a.units [i] hfit

/-- Taking allocations that fit, on different pools, keeps everything in the capacity. -/
theorem takeAll_mem {m : Machine} (hm : MemOk D m) (i : Nat) (caching : Bool) {as : List Alloc}
    (hd : DistinctPools as)
    (hfit : ∀ a ∈ as, a.pool < m.pools.length →
      (m.pool a.pool).used + a.units ≤ (D.pool a.pool).cap) :
    MemOk D (takeAll D i caching as m) ∧
      ∀ q, q < m.pools.length →
        ((takeAll D i caching as m).pool q).used = (m.pool q).used + unitsOn q as := by
  induction as generalizing m with
  | nil => exact ⟨hm, fun q _ => by simp [takeAll, unitsOn]⟩
  | cons a as ih =>
    obtain ⟨hda, hd⟩ := hd
    have hlen : (takeOne D i caching m a).pools.length = m.pools.length :=
      (same_takeOne D i caching m a).pools
    obtain ⟨h1, h2⟩ := takeOne_mem hm i caching a (hfit a (by simp))
    obtain ⟨h3, h4⟩ := ih h1 hd (by
      intro x hx hlt
      rw [hlen] at hlt
      rw [h2 x.pool hlt]
      have hne : ¬ x.pool = a.pool := hda x hx
      simp only [hne, if_false, Nat.add_zero]
      exact hfit x (by simp [hx]) hlt)
    refine ⟨h3, fun q hq => ?_⟩
    unfold takeAll
    rw [h4 q (by rw [hlen]; exact hq), h2 q hq]
    rw [show unitsOn q (a :: as) =
      if a.pool = q then a.units + unitsOn q as else unitsOn q as from rfl]
    by_cases h : q = a.pool
    · subst h
      simp only [if_true]
      omega
    · have h' : ¬ a.pool = q := fun h' => h h'.symm
      simp [h, h']

/-- What `allFit` has checked, for every allocation of the hold. -/
theorem allFit_units {m : Machine} {i : Nat} {caching : Bool} {reuse : Option Nat}
    {ns : List (Nat × Nat × Nat)} (h : allFit D m ns = true) (hr : ∀ n ∈ ns, n.2.1 ≤ n.2.2) :
    ∀ a ∈ newAllocs D m i caching reuse ns, (m.pool a.pool).used + a.units ≤ (D.pool a.pool).cap := by
  induction ns with
  | nil => simp [newAllocs]
  | cons n ns ih =>
    obtain ⟨p, u, r⟩ := n
    unfold allFit at h
    split at h
    · next hp =>
      intro a ha
      unfold newAllocs at ha
      rcases List.mem_cons.mp ha with rfl | ha
      · have := roundUp_mono (D.pool p).block (hr (p, u, r) (by simp))
        simp only at this ⊢
        omega
      · exact ih h (fun n hn => hr n (by simp [hn])) a ha
    · simp at h

/-- A hold must find at least the room that it takes. -/
theorem needs_le (env : Env) (hs : List HoldPool) : ∀ n ∈ needs env hs, n.2.1 ≤ n.2.2 := by
  induction hs with
  | nil => simp [needs]
  | cons h hs ih =>
    intro n hn
    unfold needs at hn
    rcases List.mem_cons.mp hn with rfl | hn
    · simp only
      split <;> omega
    · exact ih n hn

/-- Admitting a session that fits. -/
theorem MemInv.admit {m : Machine} (h : MemInv D m) (hb : BlocksOk (HoldsOk D) m) (p i left : Nat)
    (hfit : fits D m i left = true) : MemInv D (admit D m p i left) := by
  unfold Serq.admit
  unfold fits at hfit
  split
  · next pools reuse body cache k hp =>
    simp only [hp] at hfit
    have hok : HoldOk D (.Hold pools reuse body cache k) := by
      have := (hb.sess i).prog
      rw [hp] at this
      exact this.1
    obtain ⟨hpos, hdist⟩ := hok m i left
    have hq : MemInv D (leaveQueue m p i) := h.modPool p _ rfl (Nat.le_refl _)
    have hused : ∀ q, ((leaveQueue m p i).pool q).used = (m.pool q).used := by
      intro q
      unfold leaveQueue
      rw [pool_modPool]
      split <;> rfl
    have hlen : (leaveQueue m p i).pools.length = m.pools.length := by
      simp [leaveQueue, Machine.modPool]
    obtain ⟨h1, h2⟩ := takeAll_mem (D := D) hq.mem i cache.isSome hdist (by
      intro a ha _
      rw [hused]
      exact allFit_units hfit (needs_le _ _) a ha)
    simp only
    generalize hM : takeAll D i cache.isSome (holdAllocs D m i left pools reuse cache)
      (leaveQueue m p i) = M at h1 h2
    have hsess : M.sess = m.sess := by
      rw [← hM]
      exact (takeAll_sess D i _ _ _).1
    have hMlen : M.pools.length = m.pools.length := by
      rw [← hM, (same_takeAll D i _ _ _).pools, hlen]
    have hv : Virtual D i (.hold ⟨holdAllocs D m i left pools reuse cache, false, cache,
        .Hold pools reuse body cache k⟩ k :: (M.at_ i).stack) M := by
      refine ⟨h1, ?_, ?_, ?_⟩
      · intro q hq'
        rw [hMlen] at hq'
        rw [h2 q (by rw [hlen]; exact hq'), hused, heldOthers_eq hsess, at_eq hsess]
        have := h.held q hq'
        rw [heldTotal_split q i m] at this
        simp only [heldOn]
        omega
      · refine ⟨hpos, ?_⟩
        rw [at_eq hsess]
        exact h.pos i
      · intro j _
        rw [at_eq hsess]
        exact h.pos j
    unfold tally enterBody
    simp only
    exact MemInv.of_eq (hv.toInv _ (fun _ => Nat.le_refl _) hv.top) rfl rfl
  · exact h

/-- Admitting at one pool keeps memory within bounds. -/
theorem MemInv.admitHeads {m : Machine} (h : MemInv D m) (hb : BlocksOk (HoldsOk D) m)
    (p fuel : Nat) : MemInv D (admitHeads D p fuel m) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl
  | succ fuel ih =>
    unfold Serq.admitHeads
    split
    · exact h
    · next i _ =>
      split
      · next hf => exact ih (h.admit hb p i 0 hf) (hb.admit (closed_holdsOk D) D p i 0)
      · exact h

/-- Admitting at some pools keeps memory within bounds. -/
theorem MemInv.admitPools {m : Machine} (h : MemInv D m) (hb : BlocksOk (HoldsOk D) m)
    (Ps : List Pool) (p : Nat) : MemInv D (admitPools D Ps p m) := by
  induction Ps generalizing m p with
  | nil => exact h
  | cons P Ps ih =>
    unfold Serq.admitPools
    split
    · exact ih h hb _
    · exact ih (h.admitHeads hb p _) (hb.admitHeads (closed_holdsOk D) D p _) _

/-- Admitting at every pool that no engine serves keeps memory within bounds. -/
theorem MemInv.admitAll {m : Machine} (h : MemInv D m) (hb : BlocksOk (HoldsOk D) m) :
    MemInv D (admitAll D m) := h.admitPools hb D.pools 0

/-! ## Commands -/

/-- Ending a hold keeps memory within bounds. -/
theorem MemInv.finishHold {m : Machine} (h : MemInv D m) (hb : BlocksOk (HoldsOk D) m) (i : Nat)
    (r : HoldRec) (k : Block) (st : List Frame) (hst : (m.at_ i).stack = .hold r k :: st) :
    MemInv D (finishHold D m i r k st) := by
  have hf : ∀ f ∈ Frame.hold r k :: st, FrameOk (HoldsOk D) f := hst ▸ (hb.sess i).stack
  have hv := h.toVirtual i
  rw [hst] at hv
  have h1 := hv.releaseHold r.grown
  have h2 := (h1.toInv (fun s =>
    { s with attrs := Arr.put s.attrs D.slotComputed 0, prog := k, stack := st })
    (fun _ => Nat.le_refl _) h1.top)
  refine MemInv.of_eq (MemInv.admitAll h2 ?_) rfl rfl
  exact (hb.releaseHold D i r r.grown).modSess i _ fun _ =>
    ⟨(hf (.hold r k) (by simp)).1, fun f hf' => hf f (by simp [hf'])⟩

/-- The units of an allocation and of others are their sum. -/
theorem unitsOn_cons (q : Nat) (a : Alloc) (as : List Alloc) :
    unitsOn q (a :: as) = unitsOn q [a] + unitsOn q as := by
  simp only [unitsOn]
  split <;> omega

/-- A hold without one allocation holds less by that allocation. -/
theorem unitsOn_withoutPool {p : Nat} {as : List Alloc} {a : Alloc} (h : findAlloc p as = some a)
    (q : Nat) : unitsOn q (withoutPool p as) + unitsOn q [a] = unitsOn q as := by
  induction as with
  | nil => simp [findAlloc] at h
  | cons b as ih =>
    unfold findAlloc at h
    unfold withoutPool
    split at h
    · next hb =>
      simp only [Option.some.injEq] at h
      subst h
      rw [if_pos hb, unitsOn_cons q b as]
      omega
    · next hb =>
      have := ih h
      rw [if_neg hb, unitsOn_cons q b as, unitsOn_cons q b (withoutPool p as)]
      omega

/-- A hold without one allocation keeps its positions. -/
theorem allocsPos_withoutPool {p : Nat} {as : List Alloc} (h : AllocsPos as) :
    AllocsPos (withoutPool p as) := by
  induction as with
  | nil => exact h
  | cons b as ih =>
    unfold withoutPool
    split
    · exact fun x hx => h x (by simp [hx])
    · intro x hx
      rcases List.mem_cons.mp hx with rfl | hx
      · exact h x (by simp)
      · exact ih (fun y hy => h y (by simp [hy])) x hx

/-- An allocation that is found is there. -/
theorem findAlloc_mem {p : Nat} {as : List Alloc} {a : Alloc} (h : findAlloc p as = some a) :
    a ∈ as := by
  induction as with
  | nil => simp [findAlloc] at h
  | cons b as ih =>
    unfold findAlloc at h
    split at h
    · simp only [Option.some.injEq] at h
      subst h
      exact List.mem_cons_self
    · exact List.mem_cons_of_mem _ (ih h)

/-- Giving the innermost hold's allocation back lessens what is held by it. -/
theorem dropInnermost_held {p : Nat} {st : List Frame} {r : HoldRec} {a : Alloc}
    (hr : innermostHold p st = some r) (ha : findAlloc p r.allocs = some a) (hp : StackPos st) :
    (∀ q, heldOn q (dropInnermost p st) + unitsOn q [a] = heldOn q st) ∧
      StackPos (dropInnermost p st) ∧ a.pos ≤ a.units := by
  induction st with
  | nil => simp [innermostHold] at hr
  | cons f st ih =>
    cases f with
    | seq k => exact ih hr hp
    | hold r' k =>
      unfold innermostHold at hr
      unfold dropInnermost
      split at hr
      · next hn =>
        obtain ⟨h1, h2, h3⟩ := ih hr hp.2
        simp only [heldOn]
        exact ⟨fun q => by have := h1 q; omega, ⟨hp.1, h2⟩, h3⟩
      · next b hb =>
        simp only [Option.some.injEq] at hr
        subst hr
        simp only [heldOn]
        refine ⟨fun q => ?_, ⟨allocsPos_withoutPool hp.1, hp.2⟩, hp.1 a (findAlloc_mem ha)⟩
        have := unitsOn_withoutPool ha q
        omega

/-- Releasing one pool of a hold keeps memory within bounds. -/
theorem MemInv.releasePool {m : Machine} (h : MemInv D m) (hb : BlocksOk (HoldsOk D) m)
    (i p : Nat) : MemInv D (releasePool D m i p) := by
  unfold Serq.releasePool
  split
  · exact h
  · next r hr =>
    split
    · exact h
    · next a ha =>
      obtain ⟨h1, h2, h3⟩ := dropInnermost_held hr ha (h.pos i)
      have hsnap : MemInv D (m.modSess i fun s => { s with snap := s.attrs }) := h.modSame i _ rfl
      have hbsnap : BlocksOk (HoldsOk D) (m.modSess i fun s => { s with snap := s.attrs }) :=
        hb.modSess i _ fun hs => ⟨hs.prog, hs.stack⟩
      have hc : Covers (fun q => heldOthers q i m + heldOn q (dropInnermost p (m.at_ i).stack)) [a]
          (m.modSess i fun s => { s with snap := s.attrs }) := by
        intro q hq
        have := h.held q hq
        rw [heldTotal_split q i m, ← h1 q] at this
        have hu : ((m.modSess i fun s => { s with snap := s.attrs }).pool q).used =
            (m.pool q).used := rfl
        rw [hu]
        simp only
        omega
      obtain ⟨h4, h5⟩ := giveOne_mem hsnap.mem hc h3 i r.grown (cacheValue D m i r.cache)
      have hs := (giveOne_sess D i r.grown (cacheValue D m i r.cache)
        (m.modSess i fun s => { s with snap := s.attrs }) a).1
      have hj := (giveOne_sess D i r.grown (cacheValue D m i r.cache)
        (m.modSess i fun s => { s with snap := s.attrs }) a).2
      have hstack : ∀ j, ((giveOne D i r.grown (cacheValue D m i r.cache)
          (m.modSess i fun s => { s with snap := s.attrs }) a).at_ j).stack = (m.at_ j).stack := by
        intro j
        rw [at_eq hs, at_modSess]
        split <;> rfl
      have hlen := (same_giveOne D i r.grown (cacheValue D m i r.cache)
        (m.modSess i fun s => { s with snap := s.attrs }) a).pools
      have hv : Virtual D i (dropInnermost p (m.at_ i).stack) (giveOne D i r.grown
          (cacheValue D m i r.cache) (m.modSess i fun s => { s with snap := s.attrs }) a) := by
        refine ⟨h4, ?_, h2, ?_⟩
        · intro q hq
          have := h5 q hq
          simp only [unitsOn, Nat.add_zero] at this
          rw [heldOthers_eq hs, heldOthers_modSess]
          exact this
        · intro j _
          rw [hstack]
          exact h.pos j
      refine MemInv.of_eq (MemInv.admitAll (hv.toInv _ ?_ ?_) ?_) rfl rfl
      · intro q
        simp only
        rw [hstack]
        exact Nat.le_refl _
      · simp only
        rw [hstack]
        exact h2
      · exact BlocksOk.modSess (hbsnap.of_eq hs hj) i _
          fun hs => ⟨hs.prog, frameOk_dropInnermost p hs.stack⟩

/-- Starting a service keeps memory within bounds. -/
theorem MemInv.serveFor {m : Machine} (h : MemInv D m) (i s w : Nat) :
    MemInv D (serveFor m i s w) :=
  (h.modSame i (fun x => { x with status := .serving m.nextEvent }) rfl).of_eq rfl rfl

/-- Starting a run keeps memory within bounds. -/
theorem MemInv.startRun {m : Machine} (h : MemInv D m) (i s : Nat) (mode : Mode) (w : Nat)
    (growing : Option Nat) : MemInv D (startRun D m i s mode w growing) := by
  unfold Serq.startRun
  split
  · exact h.serveFor i s w
  · split
    · exact MemInv.serveFor (by exact h.of_eq rfl rfl) i s w
    · exact MemInv.modSame (by exact h.of_eq rfl rfl) i _ rfl
  · exact MemInv.of_eq (h.modSame i (fun x => { x with status := .engine }) rfl) rfl rfl

/-- Running the commands of a session keeps memory within bounds. -/
theorem MemInv.exec {m : Machine} (h : MemInv D m) (hb : BlocksOk (HoldsOk D) m) (fuel i : Nat) :
    MemInv D (exec D fuel m i) := by
  have hG := closed_holdsOk D
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl
  | succ fuel ih =>
    have hp := (hb.sess i).prog
    have hst := (hb.sess i).stack
    unfold Serq.exec
    simp only
    split
    · split
      · split
        · exact h.modSame i _ rfl
        · next k st heq =>
          have hpos := h.pos i
          rw [heq] at hst hpos
          refine ih (h.modSess i _ ?_ ?_) (hb.modSess i _ fun _ =>
            ⟨hst (.seq k) (by simp), fun f hf => hst f (by simp [hf])⟩)
          · intro q
            rw [heq]
            exact Nat.le_refl _
          · intro _
            exact hpos
        · next r k st heq =>
          have hst' := hst
          rw [heq] at hst'
          exact ih (h.finishHold hb i r k st heq)
            (hb.finishHold hG D i r k st (hst' (.hold r k) (by simp)).1
              fun f hf => hst' f (by simp [hf]))
      · exact h.endSession i
      · next k heq =>
        rw [heq] at hp
        refine ih (h.modSame i _ ?_) (hb.modSess i _ fun hs => ?_)
        · unfold nextTurn
          simp only
          split <;> rfl
        · unfold nextTurn
          simp only
          split
          · exact ⟨hG.part .turn hp, hs.stack⟩
          · exact ⟨hG.part .turn hp, hs.stack⟩
          · exact ⟨hG.part .turn hp, hs.stack⟩
      · next heq =>
        rw [heq] at hp
        exact ih (h.modSame i _ rfl) (hb.modSess i _ fun hs => ⟨hG.part .set hp, hs.stack⟩)
      · next heq =>
        rw [heq] at hp
        exact ih (MemInv.of_eq (h.modSame i _ rfl) rfl rfl)
          (BlocksOk.of_eq (hb.modSess i _ fun hs => ⟨hG.part .observe hp, hs.stack⟩) rfl rfl)
      · exact h.enqueue i false
      · next heq =>
        rw [heq] at hp
        refine ih (MemInv.modSame (h.modPool _ _ rfl ?_) i _ rfl)
          (BlocksOk.modSess (hb.of_eq (m' := m.modPool _ _) rfl rfl) i _
            fun hs => ⟨hG.part .drop hp, hs.stack⟩)
        exact sumSizes_removeOwn i _
      · next heq =>
        rw [heq] at hp
        have hb' := hb.modSess i (fun s => { s with prog := _ })
          fun hs => ⟨hG.part .release hp, hs.stack⟩
        exact ih (MemInv.releasePool (h.modSame i _ rfl) hb' i _) (hb'.releasePool hG D i _)
      · next stage mode work growing k heq =>
        rw [heq] at hp
        have hb1 := hb.modSess i (fun s => { s with prog := k })
          fun hs => ⟨hG.part .run hp, hs.stack⟩
        split
        · exact MemInv.of_eq (h.modSame i _ rfl) rfl rfl
        · exact MemInv.startRun (h.modSame i _ rfl) i _ _ _ _
      · next heq =>
        rw [heq] at hp
        refine ih (h.modSess i _ (fun q => Nat.le_refl _) id) (hb.modSess i _ fun hs => ⟨?_, ?_⟩)
        · split
          · exact hG.part .branchElse hp
          · exact hG.part .branchThen hp
        · intro f hf
          rcases List.mem_cons.mp hf with rfl | hf
          · exact hG.part .branchNext hp
          · exact hs.stack f hf
      · next heq =>
        rw [heq] at hp
        refine ih (h.modSess i _ (fun q => Nat.le_refl _) id)
          (hb.modSess i _ fun hs => ⟨hG.part .loop hp, ?_⟩)
        intro f hf
        rcases List.mem_cons.mp hf with rfl | hf
        · exact hp
        · exact hs.stack f hf
      · next heq =>
        rw [heq] at hp
        split
        · exact ih (h.modSame i _ rfl)
            (hb.modSess i _ fun hs => ⟨hG.part .whileNext hp, hs.stack⟩)
        · refine ih (h.modSess i _ (fun q => Nat.le_refl _) id)
            (hb.modSess i _ fun hs => ⟨hG.part .whileBody hp, ?_⟩)
          intro f hf
          rcases List.mem_cons.mp hf with rfl | hf
          · exact hp
          · exact hs.stack f hf
      · next heq =>
        rw [heq] at hp
        exact ih (h.modSame i _ rfl) (hb.modSess i _ fun hs => ⟨hG.part .choose hp, hs.stack⟩)
    · exact h

/-- Running all ready sessions keeps memory within bounds. -/
theorem MemInv.drain {m : Machine} (h : MemInv D m) (hb : BlocksOk (HoldsOk D) m) (fuel : Nat) :
    MemInv D (drain D fuel m) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl
  | succ fuel ih =>
    unfold Serq.drain
    split
    · exact h
    · next i is _ =>
      have h' : MemInv D { m with ready := is } := h.of_eq rfl rfl
      have hb' : BlocksOk (HoldsOk D) { m with ready := is } := hb.of_eq rfl rfl
      exact ih (h'.exec hb' _ _) (hb'.exec (closed_holdsOk D) D _ _)

/-- Settling keeps memory within bounds. -/
theorem MemInv.settle {m : Machine} (h : MemInv D m) (hb : BlocksOk (HoldsOk D) m) (fuel : Nat) :
    MemInv D (settle D fuel m) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl
  | succ fuel ih =>
    unfold Serq.settle
    simp only
    have hb1 := hb.drain (closed_holdsOk D) D instantFuel
    have h1 := (h.drain hb instantFuel).admitAll hb1
    split
    · exact h1
    · exact ih h1 (hb1.admitAll (closed_holdsOk D) D)

/-! ## Growth and preemption -/

/-- A changed allocation adds at most its growth. -/
theorem unitsOn_modAlloc (p : Nat) (f : Alloc → Alloc) (hf : ∀ a, (f a).pool = a.pool) (k : Nat)
    (hu : ∀ a, (f a).units ≤ a.units + k) (q : Nat) (as : List Alloc) :
    unitsOn q (modAlloc p f as) ≤ unitsOn q as + (if q = p then k else 0) := by
  induction as with
  | nil => simp [modAlloc, unitsOn]
  | cons a as ih =>
    unfold modAlloc
    split
    · next ha =>
      have h1 := hu a
      simp only [unitsOn, hf]
      by_cases hq : q = p
      · subst hq
        simp only [ha, if_true]
        omega
      · have : ¬ a.pool = q := by omega
        simp [this, hq]
    · simp only [unitsOn]
      split <;> omega

/-- A changed innermost hold adds at most its growth. -/
theorem heldOn_modInnermost (p : Nat) (f : Alloc → Alloc) (hf : ∀ a, (f a).pool = a.pool) (k : Nat)
    (hu : ∀ a, (f a).units ≤ a.units + k) (q : Nat) (st : List Frame) :
    heldOn q (modInnermost p f st) ≤ heldOn q st + (if q = p then k else 0) := by
  induction st with
  | nil => simp [modInnermost, heldOn]
  | cons x st ih =>
    cases x with
    | seq c => exact ih
    | hold r c =>
      unfold modInnermost
      split
      · simp only [heldOn]
        omega
      · have := unitsOn_modAlloc p f hf k hu q r.allocs
        simp only [heldOn]
        omega

/-- A changed innermost allocation keeps positions when the changed one does. -/
theorem stackPos_modInnermost {p : Nat} {f : Alloc → Alloc} {st : List Frame} (h : StackPos st)
    (hf : ∀ a, innermost p st = some a → a.pos ≤ a.units → (f a).pos ≤ (f a).units) :
    StackPos (modInnermost p f st) := by
  have hmod : ∀ (as : List Alloc), AllocsPos as →
      (∀ a, findAlloc p as = some a → a.pos ≤ a.units → (f a).pos ≤ (f a).units) →
      AllocsPos (modAlloc p f as) := by
    intro as
    induction as with
    | nil => intro h _; exact h
    | cons a as ih =>
      intro h hf
      unfold modAlloc
      split
      · next ha =>
        intro x hx
        rcases List.mem_cons.mp hx with rfl | hx
        · exact hf a (by simp [findAlloc, ha]) (h a (by simp))
        · exact h x (by simp [hx])
      · next ha =>
        intro x hx
        rcases List.mem_cons.mp hx with rfl | hx
        · exact h x (by simp)
        · exact ih (fun y hy => h y (by simp [hy]))
            (fun b hb => hf b (by simp [findAlloc, ha, hb])) x hx
  induction st with
  | nil => exact h
  | cons x st ih =>
    cases x with
    | seq c => exact ih h hf
    | hold r c =>
      unfold modInnermost
      split
      · next hn => exact ⟨h.1, ih h.2 (fun a ha => hf a (by simp [innermost, hn, ha]))⟩
      · next b hb =>
        exact ⟨hmod r.allocs h.1 (fun a ha => hf a (by simp [innermost, ha])), h.2⟩

/-- The innermost allocation's position is within its units. -/
theorem innermost_pos {p : Nat} {st : List Frame} {a : Alloc} (h : StackPos st)
    (ha : innermost p st = some a) : a.pos ≤ a.units := by
  induction st with
  | nil => simp [innermost] at ha
  | cons x st ih =>
    cases x with
    | seq c => exact ih h ha
    | hold r c =>
      unfold innermost at ha
      split at ha
      · next b hb =>
        simp only [Option.some.injEq] at ha
        subst ha
        exact h.1 b (findAlloc_mem hb)
      · exact ih h.2 ha

/-- Moving a position keeps memory within bounds. -/
theorem MemInv.moveTo {m : Machine} (h : MemInv D m) (i p x : Nat)
    (hx : ∀ a, innermost p (m.at_ i).stack = some a → x ≤ a.units) :
    MemInv D (moveTo m i p x) := by
  refine h.modSess i _ (fun q => ?_) (fun hs => ?_)
  · have := heldOn_modInnermost p (fun a => { a with pos := x }) (fun _ => rfl) 0
      (fun _ => Nat.le_refl _) q (m.at_ i).stack
    simpa using this
  · exact stackPos_modInnermost hs fun a ha _ => hx a ha

/-- Unwinding a preempted session stays within bounds. -/
theorem Virtual.unwind {m : Machine} {i p : Nat} {st : List Frame} (h : Virtual D i st m) :
    MemInv D (unwind D p i st m) := by
  induction st generalizing m with
  | nil => exact h.toInv _ (fun _ => Nat.le_refl _) trivial
  | cons f st ih =>
    cases f with
    | seq k => exact ih h.seq
    | hold r k =>
      unfold Serq.unwind
      simp only
      have h1 := h.releaseHold true
      split
      · exact ih h1
      · exact h1.toInv _ (fun _ => Nat.le_refl _) h1.top

/-- A preemption keeps memory within bounds. -/
theorem MemInv.preempt {m : Machine} (h : MemInv D m) (p i : Nat) : MemInv D (preempt D p i m) := by
  unfold Serq.preempt
  simp only
  have h1 : MemInv D (m.setAttr i D.slotComputed (computedPos m i p)) := h.modSame i _ rfl
  have h2 : MemInv D (Serq.moveTo (m.setAttr i D.slotComputed (computedPos m i p)) i p
      (computedPos m i p)) := by
    refine h1.moveTo i p _ fun a ha => ?_
    have hst : ((m.setAttr i D.slotComputed (computedPos m i p)).at_ i).stack = (m.at_ i).stack := by
      unfold Machine.setAttr
      rw [at_modSess]
      split <;> rfl
    rw [hst] at ha
    have := innermost_pos (h.pos i) ha
    unfold computedPos
    rw [ha]
    simp only
    omega
  have h3 : MemInv D { Serq.moveTo (m.setAttr i D.slotComputed (computedPos m i p)) i p
      (computedPos m i p) with jobs := removeJob i m.jobs, plan := withoutVictim i m.plan } :=
    h2.of_eq rfl rfl
  exact MemInv.of_eq (MemInv.enqueue (h3.toVirtual i).unwind i _) rfl rfl

/-! A preemption leaves the stacks of all other sessions alone. -/

/-- The end of a session changes no other stack. -/
theorem endSession_at (D : Deployment) (m : Machine) {i j : Nat} (h : i ≠ j) :
    ((endSession D m i).at_ j).stack = (m.at_ j).stack := by
  have hr : ∀ (st : List Frame) (m : Machine),
      ((releaseStack D i st m).at_ j).stack = (m.at_ j).stack := by
    intro st
    induction st with
    | nil => intro m; rfl
    | cons f st ih =>
      intro m
      cases f with
      | seq k => exact ih m
      | hold r k => exact (ih _).trans (releaseHold_at D i r r.grown m j)
  unfold endSession
  rw [at_modSess, if_neg (fun h' => h h'.1)]
  exact hr _ m

/-- Joining a queue changes no other stack. -/
theorem enqueue_at (D : Deployment) (m : Machine) {i j : Nat} (h : i ≠ j) (front : Bool) :
    ((enqueue D m i front).at_ j).stack = (m.at_ j).stack := by
  unfold enqueue
  split
  · simp only
    split
    · exact (endSession_at D _ h : _)
    · rw [at_modSess, if_neg (fun h' => h h'.1)]
      rfl
  · rfl

/-- Unwinding changes no other stack. -/
theorem unwind_at (D : Deployment) (p : Nat) {i j : Nat} (h : i ≠ j) (st : List Frame) (m : Machine) :
    ((unwind D p i st m).at_ j).stack = (m.at_ j).stack := by
  induction st generalizing m with
  | nil =>
    unfold unwind
    rw [at_modSess, if_neg (fun h' => h h'.1)]
  | cons f st ih =>
    cases f with
    | seq k => exact ih m
    | hold r k =>
      unfold unwind
      simp only
      split
      · exact (ih _).trans (releaseHold_at D i r true m j)
      · rw [at_modSess, if_neg (fun h' => h h'.1)]
        exact releaseHold_at D i r true m j

/-- A preemption changes no other stack. -/
theorem preempt_at (D : Deployment) (p : Nat) {i j : Nat} (h : i ≠ j) (m : Machine) :
    ((preempt D p i m).at_ j).stack = (m.at_ j).stack := by
  unfold preempt
  simp only
  rw [show ∀ (m' : Machine) f, (tally m' f).at_ j = m'.at_ j from fun _ _ => rfl,
    enqueue_at D _ h, unwind_at D p h]
  have h1 : ∀ (m' : Machine) (l : List Job) (pl : Plan),
      Machine.at_ { m' with jobs := l, plan := pl } j = m'.at_ j := fun _ _ _ => rfl
  rw [h1]
  unfold moveTo Machine.setAttr
  rw [at_modSess, if_neg (fun h' => h h'.1), at_modSess, if_neg (fun h' => h h'.1)]

/-- A growth that succeeds has grown the innermost hold. -/
theorem grow_at (D : Deployment) (p i need fuel : Nat) {m m' : Machine}
    (h : grow D p i need fuel m = (m', true)) :
    (m'.at_ i).stack =
      modInnermost p (fun a => { a with units := a.units + need }) (m.at_ i).stack := by
  induction fuel generalizing m with
  | zero => simp [grow] at h
  | succ fuel ih =>
    unfold grow at h
    split at h
    · simp only [Prod.mk.injEq, and_true] at h
      subst h
      have hs : (takeUnits (makeRoom D m p need) p need).sess = m.sess :=
        (makeRoom_sess D m p need).1
      unfold addUnits
      rw [at_modSess]
      split
      · simp only
        rw [at_eq hs]
      · next hi =>
        rw [at_eq hs]
        by_cases hlt : i < (takeUnits (makeRoom D m p need) p need).sess.size
        · exact absurd ⟨rfl, hlt⟩ hi
        · rw [hs] at hlt
          have : m.at_ i = default := by
            simp only [Machine.at_, Arr.at!, Lst.nth_eq_getD, List.getD_eq_getElem?_getD]
            rw [List.getElem?_eq_none (by simpa using hlt)]
            rfl
          rw [this]
          rfl
    · split at h
      · simp at h
      · next v _ =>
        split at h
        · simp at h
        · next hv =>
          rw [ih h, preempt_at D p hv]

/-- What a growth does to its session. -/
def addedUnits (p need : Nat) (s : Sess) : Sess :=
  { s with stack := modInnermost p (fun a => { a with units := a.units + need }) s.stack }

/-- A growth changes one session. -/
theorem addUnits_eq (m : Machine) (i p need : Nat) :
    addUnits m i p need = m.modSess i (addedUnits p need) := rfl

/-- A growth, with the preemptions that it needs, keeps memory within bounds. -/
theorem MemInv.grow {m : Machine} (h : MemInv D m) (p i need fuel : Nat) :
    MemInv D (grow D p i need fuel m).1 := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl
  | succ fuel ih =>
    unfold Serq.grow
    split
    · next hfit =>
      obtain ⟨h1, h2⟩ := room_mem h.mem p need [] (fun _ => hfit)
      have hpool : ∀ (x : Machine), (x.modPool p fun st =>
          { st with used := st.used + need, holders := st.holders ++ [] }) = takeUnits x p need := by
        intro x
        unfold takeUnits
        congr 1
        funext st
        simp
      rw [hpool] at h1 h2
      have hs : (takeUnits (makeRoom D m p need) p need).sess = m.sess :=
        (makeRoom_sess D m p need).1
      have hlen : (takeUnits (makeRoom D m p need) p need).pools.length = m.pools.length := by
        unfold takeUnits
        simp [Machine.modPool, (same_makeRoom D m p need).pools]
      rw [addUnits_eq]
      refine ⟨h1, ?_, ?_⟩
      · intro q hq
        have hq' : q < m.pools.length := by
          rw [← hlen]
          exact hq
        have h3 := heldTotal_modSess q i (takeUnits (makeRoom D m p need) p need) (addedUnits p need)
        have h4 := heldOn_modInnermost p (fun a => { a with units := a.units + need })
          (fun _ => rfl) need (fun _ => Nat.le_refl _) q (m.at_ i).stack
        have h5 := h.held q hq'
        rw [heldTotal_split q i m] at h5
        have h6 := h2 q hq'
        rw [heldOthers_eq hs, at_eq hs] at h3
        refine Nat.le_trans h3 ?_
        have h7 : ((takeUnits (makeRoom D m p need) p need).modSess i (addedUnits p need)).pool q =
            (takeUnits (makeRoom D m p need) p need).pool q := rfl
        simp only [h7, h6]
        simp only [addedUnits]
        omega
      · intro j
        rw [at_modSess]
        split
        · next hij =>
          obtain ⟨rfl, _⟩ := hij
          simp only [addedUnits]
          rw [at_eq hs]
          exact stackPos_modInnermost (h.pos i) fun a _ ha => by simp only; omega
        · rw [at_eq hs]
          exact h.pos j
    · split
      · exact h
      · split
        · exact h.preempt p _
        · exact ih (h.preempt p _)

/-! ## Iterations and events -/

/-- A changed allocation is found changed. -/
theorem findAlloc_modAlloc {p : Nat} {f : Alloc → Alloc} (hf : ∀ a, (f a).pool = a.pool)
    {as : List Alloc} {a : Alloc} (h : findAlloc p as = some a) :
    findAlloc p (modAlloc p f as) = some (f a) := by
  induction as with
  | nil => simp [findAlloc] at h
  | cons c as ih =>
    unfold findAlloc at h
    unfold modAlloc
    split at h
    · next hc =>
      simp only [Option.some.injEq] at h
      subst h
      simp [findAlloc, hc, hf]
    · next hc =>
      rw [if_neg hc]
      unfold findAlloc
      rw [if_neg hc]
      exact ih h

/-- The innermost allocation after a change of it. -/
theorem innermost_modInnermost {p : Nat} {f : Alloc → Alloc} (hf : ∀ a, (f a).pool = a.pool)
    {st : List Frame} {a : Alloc} (h : innermost p st = some a) :
    innermost p (modInnermost p f st) = some (f a) := by
  induction st with
  | nil => simp [innermost] at h
  | cons x st ih =>
    cases x with
    | seq c => exact ih h
    | hold r c =>
      cases hr : findAlloc p r.allocs with
      | none =>
        simp only [innermost, hr] at h
        simp only [modInnermost, hr, innermost]
        exact ih h
      | some b =>
        simp only [innermost, hr, Option.some.injEq] at h
        subst h
        simp [modInnermost, hr, innermost, findAlloc_modAlloc hf hr]

/-- Giving a resident its tokens keeps memory within bounds. -/
theorem MemInv.giveTokens {m : Machine} (h : MemInv D m) (j : Job) (t : Nat) :
    MemInv D (giveTokens D j t m).1 := by
  unfold Serq.giveTokens
  split
  · exact h.of_eq rfl rfl
  · next p _ =>
    split
    · exact h
    · next a ha =>
      simp only
      split
      · next hx =>
        refine MemInv.of_eq (h.moveTo j.owner p (a.pos + t) fun b hb => ?_) rfl rfl
        rw [ha] at hb
        simp only [Option.some.injEq] at hb
        subst hb
        exact hx
      · next hx =>
        have hg := h.grow p j.owner (roundUp (D.pool p).block (a.pos + t) - a.units)
          (m.jobs.length + 1)
        split
        · next m' heq =>
          have hst := grow_at D p j.owner _ _ heq
          rw [heq] at hg
          refine MemInv.of_eq (MemInv.moveTo hg j.owner p (a.pos + t) fun b hb => ?_) rfl rfl
          rw [hst] at hb
          have hin := innermost_modInnermost (f := fun c => { c with units := c.units +
            (roundUp (D.pool p).block (a.pos + t) - a.units) }) (fun _ => rfl) ha
          rw [hin] at hb
          simp only [Option.some.injEq] at hb
          subst hb
          have := le_roundUp (D.pool p).block (a.pos + t)
          simp only
          omega
        · next m' heq =>
          rw [heq] at hg
          exact hg

/-- Serving a resident keeps memory within bounds. -/
theorem MemInv.serveJob {m : Machine} (h : MemInv D m) (cap : Nat) (j : Job) :
    MemInv D (serveJob D cap j m).1 := by
  unfold Serq.serveJob
  split
  · exact h
  · split
    · exact h
    · simp only
      split
      · exact h
      · exact h.giveTokens j _

/-- Serving the residents keeps memory within bounds. -/
theorem MemInv.serveAll {m : Machine} (h : MemInv D m) (cap fuel : Nat) (todo : List Job) :
    MemInv D (serveAll D cap fuel todo m) := by
  induction fuel generalizing todo m with
  | zero => exact h
  | succ fuel ih =>
    unfold Serq.serveAll
    split
    · exact h
    · next j rest _ =>
      have h1 := h.serveJob cap j
      split
      · next m' heq => rw [heq] at h1; exact h1
      · next m' heq =>
        rw [heq] at h1
        split
        · exact h1
        · exact ih h1 rest

/-- Admitting and serving a session in an iteration keeps memory within bounds. -/
theorem MemInv.admitNext {m : Machine} (h : MemInv D m) (hb : BlocksOk (HoldsOk D) m)
    (cap p i : Nat) (hfit : fits D m i m.plan.left = true) : MemInv D (admitNext D cap p i m) := by
  unfold Serq.admitNext
  simp only
  have h1 : MemInv D { Serq.admit D m p i m.plan.left with
      plan := { (Serq.admit D m p i m.plan.left).plan with
        entered := (Serq.admit D m p i m.plan.left).plan.entered ++
          [(i, Arr.at! ((Serq.admit D m p i m.plan.left).at_ i).attrs D.slotCached)] } } :=
    (h.admit hb p i _ hfit).of_eq rfl rfl
  have hb1 : BlocksOk (HoldsOk D) { Serq.admit D m p i m.plan.left with
      plan := { (Serq.admit D m p i m.plan.left).plan with
        entered := (Serq.admit D m p i m.plan.left).plan.entered ++
          [(i, Arr.at! ((Serq.admit D m p i m.plan.left).at_ i).attrs D.slotCached)] } } :=
    (hb.admit (closed_holdsOk D) D p i _).of_eq rfl rfl
  have h2 := h1.drain hb1 instantFuel
  split
  · exact h2
  · exact h2.serveJob cap _

/-- Serving the queues of the engine keeps memory within bounds. -/
theorem MemInv.admitWaiting {m : Machine} (h : MemInv D m) (hb : BlocksOk (HoldsOk D) m)
    (cap fuel : Nat) : MemInv D (admitWaiting D cap fuel m) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl
  | succ fuel ih =>
    unfold Serq.admitWaiting
    split
    · exact h
    · split
      · exact h
      · split
        · exact h
        · split
          · exact h
          · split
            · next hf =>
              exact ih (h.admitNext hb cap _ _ hf) (hb.admitNext (closed_holdsOk D) D cap _ _)
            · exact h

/-- Building a batch keeps memory within bounds. -/
theorem MemInv.buildBatch {m : Machine} (h : MemInv D m) (hb : BlocksOk (HoldsOk D) m)
    (cap : Nat) : MemInv D (buildBatch D cap m) :=
  MemInv.admitWaiting (MemInv.serveAll (by exact h.of_eq rfl rfl) cap _ _)
    (BlocksOk.serveAll (closed_holdsOk D) (by exact hb.of_eq rfl rfl) D cap _ _) cap _

/-- Starting an iteration keeps memory within bounds. -/
theorem MemInv.startIteration {m : Machine} (h : MemInv D m) (hb : BlocksOk (HoldsOk D) m) :
    MemInv D (startIteration D m) := by
  have hbb := h.buildBatch hb (chunkCap D m)
  rcases startIteration_cases D m with hs | ⟨hs, _, _⟩ | hs <;> rw [hs]
  · exact h
  · exact hbb
  · exact hbb.of_eq rfl rfl

/-- Making a session ready keeps memory within bounds. -/
theorem MemInv.wake {m : Machine} (h : MemInv D m) (i : Nat) : MemInv D (wake m i) :=
  (h.modSame i (fun s => { s with status := .ready }) rfl).of_eq rfl rfl

/-- An event keeps memory within bounds. -/
theorem MemInv.handle {m : Machine} (h : MemInv D m) (t : Nat) (e : Ev) :
    MemInv D (handle D t e m) := by
  have h0 : MemInv D { m with clock := { m.clock with now := t } } := h.of_eq rfl rfl
  unfold Serq.handle
  cases e with
  | iterEnd =>
    simp only [endIteration]
    have happ : ∀ (es : List Entry) (x : Machine), MemInv D x → MemInv D (applyEntries es x) := by
      intro es
      induction es with
      | nil => intro x hx; exact hx
      | cons e es ih =>
        intro x hx
        refine ih _ ?_
        unfold applyEntry
        split
        · exact hx.wake _
        · exact hx
    exact (happ m.plan.batch _ h0).of_eq rfl rfl
  | arrival =>
    simp only [arrive]
    refine MemInv.wake ?_ _
    unfold scheduleArrival
    split <;> exact h.of_eq rfl rfl
  | due =>
    simp only
    split
    · exact h0
    · next d ds _ =>
      have h1 : MemInv D { m with clock := { m.clock with now := t }, dues := ds } :=
        h.of_eq rfl rfl
      have h2 : MemInv D (freeServer D
          { m with clock := { m.clock with now := t }, dues := ds } d.stage) := by
        unfold freeServer
        split
        · unfold nextService
          split
          · exact h1.of_eq rfl rfl
          · exact MemInv.serveFor (by exact h1.of_eq rfl rfl) _ _ _
        · exact h1
      unfold endService
      simp only
      split
      · exact h2.wake _
      · exact h2

/-- New sessions hold nothing. -/
theorem sumHeld_new (p : Nat) (D : Deployment) (P : Block) (status : Status) (i : Nat)
    (as : List (List (Nat × Nat))) (ts : List (Option (List (List (Nat × Nat))))) :
    sumHeld p (newSessions D P status i as ts) = 0 := by
  induction as generalizing i ts with
  | nil => cases ts <;> rfl
  | cons a as ih => cases ts <;> simp [newSessions, sumHeld, newSess, heldOn, ih]

/-- A new session has an empty stack. -/
theorem stack_new (D : Deployment) (P : Block) (status : Status) (i : Nat)
    (as : List (List (Nat × Nat))) (ts : List (Option (List (List (Nat × Nat))))) (j : Nat) :
    (Lst.nth default (newSessions D P status i as ts) j).stack = [] := by
  induction as generalizing i ts j with
  | nil => cases ts <;> rfl
  | cons a as ih =>
    cases ts with
    | nil =>
      cases j with
      | zero => rfl
      | succ j => exact ih (i + 1) [] j
    | cons t ts =>
      cases j with
      | zero => rfl
      | succ j => exact ih (i + 1) ts j

/-- A new pool is empty. -/
theorem nth_map_empty (p : Nat) (l : List Pool) :
    Lst.nth ({} : PoolSt) (l.map fun _ => ({} : PoolSt)) p = {} := by
  induction l generalizing p with
  | nil => rfl
  | cons a l ih => cases p <;> simp [Lst.nth, ih]

/-- The start keeps memory within bounds. -/
theorem MemInv.initial (D : Deployment) (w : Workload) (P : Block) : MemInv D (initial D w P) := by
  have hcase : ∀ (m : Machine) (st : Status), m.pools = (D.pools.map fun _ => ({} : PoolSt)) →
      m.sess = ⟨newSessions D P st 0 w.init w.turns⟩ → MemInv D m := by
    intro m st hp hs
    have hpool : ∀ p, m.pool p = {} := fun p => by
      unfold Machine.pool
      rw [hp]
      exact nth_map_empty p D.pools
    refine ⟨?_, ?_, ?_⟩
    · intro p _
      rw [hpool p]
      simp [sumSizes]
    · intro p _
      unfold heldTotal
      rw [hs]
      simp [sumHeld_new]
    · intro i
      unfold Machine.at_ Arr.at!
      rw [hs]
      simp only
      rw [stack_new]
      trivial
  unfold Serq.initial
  simp only
  split
  · exact hcase _ .ready rfl rfl
  · unfold scheduleArrival
    split
    · exact hcase _ .unborn rfl rfl
    · exact hcase _ .unborn rfl rfl

/-- On every path of a program whose holds take at least what they consume, the allocated and the cached
units of every pool fit into its capacity, and the allocated units cover what the sessions hold. -/
theorem memory_invariant {D : Deployment} {w : Workload} {P : Block} (hP : HoldsOk D P) {m : Machine}
    (hm : Reach D w P m) : MemInv D m :=
  (reach_invariant (fun m => MemInv D m ∧ BlocksOk (HoldsOk D) m)
    ⟨MemInv.initial D w P, BlocksOk.initial (closed_holdsOk D) hP D w⟩
    (fun _ h => ⟨h.1.settle h.2 _, h.2.settle (closed_holdsOk D) D _⟩)
    (fun _ h _ => ⟨h.1.startIteration h.2, h.2.startIteration (closed_holdsOk D) D⟩)
    (fun _ t _ e h _ => ⟨h.1.handle t e, h.2.handle D t e⟩) hm).1

/-- A hold without a cache clause consumes nothing. -/
theorem allocsPos_of_no_cache (m : Machine) (i left : Nat) (pools : List HoldPool)
    (reuse : Option Expr) : AllocsPos (holdAllocs D m i left pools reuse none) := by
  unfold holdAllocs
  generalize needs (m.sessEnv D i left) pools = ns
  induction ns with
  | nil => intro a ha; simp [newAllocs] at ha
  | cons n ns ih =>
    intro a ha
    unfold newAllocs at ha
    rcases List.mem_cons.mp ha with rfl | ha
    · simp [consumed]
    · exact ih a ha

/-- The pools of a hold, when every reference has a constant index. -/
def constPools : List HoldPool → Option (List Nat)
  | [] => some []
  | h :: hs => match h.pool.index, constPools hs with
    | .Num c, some l => some ((h.pool.base + c) :: l)
    | _, _ => none

/-- Whether a number stands in a list. -/
def isIn (n : Nat) : List Nat → Bool
  | [] => false
  | a :: as => a == n || isIn n as

/-- Whether all numbers of a list are different. -/
def allDifferent : List Nat → Bool
  | [] => true
  | a :: as => !isIn a as && allDifferent as

/-- Whether every hold of a block names different pools with constant indices and caches nothing:
enough for the memory invariant, and decided by evaluation. -/
def Block.cachesNothing : Block → Bool
  | .Done | .End => true
  | .Turn k | .Set _ _ k | .Observe _ _ k | .Drop _ k | .Release _ k | .Choose _ _ _ k =>
    k.cachesNothing
  | .Run _ _ _ _ k => k.cachesNothing
  | .Hold pools _ body cache k =>
    cache.isNone && (match constPools pools with
      | some l => allDifferent l
      | none => false) && body.cachesNothing && k.cachesNothing
  | .Branch _ a b k => a.cachesNothing && b.cachesNothing && k.cachesNothing
  | .Loop body => body.cachesNothing
  | .While _ body k => body.cachesNothing && k.cachesNothing

/-- The allocations of a hold with constant indices are on those pools. -/
theorem newAllocs_pools (m : Machine) (i : Nat) (caching : Bool) (reuse : Option Nat) (env : Env)
    {hs : List HoldPool} {l : List Nat} (h : constPools hs = some l) :
    (newAllocs D m i caching reuse (needs env hs)).map (·.pool) = l := by
  induction hs generalizing l with
  | nil =>
    simp only [constPools, Option.some.injEq] at h
    subst h
    rfl
  | cons x hs ih =>
    unfold constPools at h
    split at h
    · next c l' hc hl =>
      simp only [Option.some.injEq] at h
      subst h
      simp [needs, newAllocs, Ref.eval, hc, Expr.eval, ih hl]
    · simp at h

/-- Different numbers are different pools. -/
theorem distinct_of_allDifferent {as : List Alloc} (h : allDifferent (as.map (·.pool)) = true) :
    DistinctPools as := by
  have hin : ∀ (as : List Alloc) (n : Nat), isIn n (as.map (·.pool)) = false →
      ∀ x ∈ as, x.pool ≠ n := by
    intro as
    induction as with
    | nil => simp
    | cons a as ih =>
      intro n hn x hx
      simp only [List.map_cons, isIn, Bool.or_eq_false_iff, beq_eq_false_iff_ne] at hn
      rcases List.mem_cons.mp hx with rfl | hx
      · exact hn.1
      · exact ih n hn.2 x hx
  induction as with
  | nil => trivial
  | cons a as ih =>
    simp only [List.map_cons, allDifferent, Bool.and_eq_true, Bool.not_eq_true'] at h
    exact ⟨hin as a.pool h.1, ih h.2⟩

/-- A program that caches nothing does what it must for the memory invariant. -/
theorem holdsOk_of_cachesNothing {P : Block} (h : P.cachesNothing = true) : HoldsOk D P := by
  induction P with
  | Done => trivial
  | End => trivial
  | Turn k ih => exact ih h
  | Set _ _ k ih => exact ih h
  | Observe _ _ k ih => exact ih h
  | Drop _ k ih => exact ih h
  | Release _ k ih => exact ih h
  | Choose _ _ _ k ih => exact ih h
  | Run _ _ _ _ k ih => exact ih h
  | Branch _ a b k iha ihb ihk =>
    simp only [Block.cachesNothing, Bool.and_eq_true] at h
    exact ⟨iha h.1.1, ihb h.1.2, ihk h.2⟩
  | Loop body ih => exact ih h
  | While _ body k ihb ihk =>
    simp only [Block.cachesNothing, Bool.and_eq_true] at h
    exact ⟨ihb h.1, ihk h.2⟩
  | Hold pools reuse body cache k ihb ihk =>
    simp only [Block.cachesNothing, Bool.and_eq_true] at h
    obtain ⟨⟨⟨hc, hd⟩, hbody⟩, hk⟩ := h
    refine ⟨?_, ihb hbody, ihk hk⟩
    intro m i left
    cases cache with
    | some e => simp at hc
    | none =>
      refine ⟨allocsPos_of_no_cache m i left pools reuse, ?_⟩
      split at hd
      · next l hl =>
        apply distinct_of_allDifferent
        unfold holdAllocs
        rw [newAllocs_pools m i _ _ _ hl]
        exact hd
      · simp at hd

/-- A program that caches nothing never overcommits a pool. -/
theorem memory_of_cachesNothing {w : Workload} {P : Block} (hP : P.cachesNothing = true)
    {m : Machine} (hm : Reach D w P m) : MemInv D m :=
  memory_invariant (holdsOk_of_cachesNothing hP) hm

end Serq
