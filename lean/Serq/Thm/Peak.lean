import Serq.Thm.Memory
import Serq.Thm.TwoRuns
/-!
# Where every slot's peak fits, nobody is preempted

A request takes one slot and memory, in one hold, and grows its memory with the tokens it computes. If what
the requests of all slots hold at their peak fits into the memory, a growth always finds room. The peak
follows from bounds of the sessions' attributes: it is read off the program's text.
-/

namespace Serq.Peak

open TwoRuns

/-- The pool of slots, the engine's memory, what is known of the attributes (`none`: nothing), and the
tokens a request computes at most. -/
structure Params where
  slots : Nat
  memory : Nat
  bound : Nat → Option Nat
  peak : Nat

/-- Two bounds, added. -/
def addBound : Option Nat → Option Nat → Option Nat
  | some x, some y => some (x + y)
  | _, _ => none

/-- The smaller of two bounds. -/
def minBound : Option Nat → Option Nat → Option Nat
  | some x, some y => some (if x ≤ y then x else y)
  | some x, none => some x
  | none, y => y

/-- The larger of two bounds. -/
def maxBound : Option Nat → Option Nat → Option Nat
  | some x, some y => some (if x ≤ y then y else x)
  | _, _ => none

/-- The largest value of an expression, from the bounds of attributes; `none`: not known. -/
def boundOf (b : Nat → Option Nat) : Expr → Option Nat
  | .Num v => some v
  | .Attr s => b s
  | .Call .Min x y => minBound (boundOf b x) (boundOf b y)
  | .Call .Max x y => maxBound (boundOf b x) (boundOf b y)
  | .Call .Floor x _ => boundOf b x
  | .Binary .Add x y => addBound (boundOf b x) (boundOf b y)
  | .Binary .Sub x _ => boundOf b x
  | _ => none

/-- Attributes are within their bounds. -/
def Bounded (b : Nat → Option Nat) (a : Array Nat) : Prop := ∀ s x, b s = some x → Arr.at! a s ≤ x

/-- The bound of an expression holds. -/
theorem boundOf_le {b : Nat → Option Nat} {env : Env} (h : Bounded b env.attrs) (e : Expr) :
    ∀ x, boundOf b e = some x → e.eval env ≤ x := by
  induction e with
  | Num v => intro x hx; simp [boundOf] at hx; simp [Expr.eval, hx]
  | Attr s => intro x hx; exact h s x hx
  | Call f a c iha ihc =>
    intro x hx
    cases f <;> simp only [boundOf] at hx <;> try (cases hx; done)
    · simp only [Expr.eval, Fun.apply]
      cases ha : boundOf b a <;> cases hc : boundOf b c <;> rw [ha, hc] at hx <;>
        simp only [minBound] at hx
      · exact absurd hx (by simp)
      · have := ihc _ hc; have := Option.some.inj hx; split <;> omega
      · have := iha _ ha; have := Option.some.inj hx; split <;> omega
      · have := iha _ ha; have := ihc _ hc; have := Option.some.inj hx
        split at this <;> split <;> omega
    · simp only [Expr.eval, Fun.apply]
      cases ha : boundOf b a <;> cases hc : boundOf b c <;> rw [ha, hc] at hx <;>
        simp only [maxBound] at hx <;> try (cases hx; done)
      have := iha _ ha; have := ihc _ hc; have := Option.some.inj hx
      split at this <;> split <;> omega
    · have := iha _ hx
      simp only [Expr.eval, Fun.apply]
      exact Nat.le_trans (Nat.div_le_self _ _) this
  | Binary op a c iha ihc =>
    intro x hx
    cases op <;> simp only [boundOf] at hx <;> try (cases hx; done)
    · simp only [Expr.eval, BinaryOp.apply]
      cases ha : boundOf b a <;> cases hc : boundOf b c <;> rw [ha, hc] at hx <;>
        simp only [addBound] at hx <;> try (cases hx; done)
      have := iha _ ha; have := ihc _ hc; have := Option.some.inj hx
      omega
    · have := iha _ hx
      simp only [Expr.eval, BinaryOp.apply]
      omega
  | CtxVar | PoolCall | StageCall | Unary | Cond => intro x hx; simp [boundOf] at hx

/-- What the runs of a block compute into the memory, at most. -/
def growth (P : Params) : Block → Nat
  | .Run _ _ w (some _) k => (boundOf P.bound w).getD 0 + growth P k
  | .Run _ _ _ none k => growth P k
  | .Turn k | .Set _ _ k | .Observe _ _ k => growth P k
  | _ => 0

/-- What is asked of a program (`inside`: of the rest of a hold's body): it goes straight on; what it sets
stays within its bound; a hold takes a slot and memory, caches nothing, and its body computes at most the
peak; in the body runs grow the memory or are at a delay. -/
def Ok (D : Deployment) (P : Params) : Bool → Block → Prop
  | _, .Done => True
  | _, .End => True
  | i, .Turn k => Ok D P i k
  | i, .Set s e k => (∀ x, P.bound s = some x → ∃ y, boundOf P.bound e = some y ∧ y ≤ x) ∧ Ok D P i k
  | i, .Observe _ _ k => Ok D P i k
  | true, .Run stage _ w g k =>
    ((g = some { base := P.memory } ∧ ∃ y, boundOf P.bound w = some y) ∨
      (g = none ∧ ∃ s, stage = { base := s } ∧ D.stage s = .Delay)) ∧ Ok D P true k
  | false, .Run _ _ _ g k => g = none ∧ Ok D P false k
  | false, .Hold pools _ body cache k =>
    cache = none ∧
    (∃ u r y, pools = [{ pool := { base := P.slots }, units := .Num 1 },
        { pool := { base := P.memory }, units := u, reserve := r }] ∧
      boundOf P.bound u = some y ∧ y ≤ P.peak) ∧
    growth P body ≤ P.peak ∧ Ok D P true body ∧ Ok D P false k
  | _, _ => False

/-- What is asked of the deployment: slots without blocks, first come first served; the residents served
in admission order; no `fifo` stage; the peaks of all slots fit into the memory. -/
structure Setting (D : Deployment) (P : Params) : Prop where
  ne : P.slots ≠ P.memory
  slots : P.slots < D.pools.length
  memory : P.memory < D.pools.length
  serve : D.serve = []
  fifo : ∀ s c, D.stage s ≠ .Fifo c
  block : (D.pool P.slots).block = 0
  order : (D.pool P.slots).queue = []
  turn : P.bound D.slotTurn = none
  room : (D.pool P.slots).cap * roundUp (D.pool P.memory).block P.peak ≤ (D.pool P.memory).cap

/-- The units of a request at its peak. -/
def top (D : Deployment) (P : Params) : Nat := roundUp (D.pool P.memory).block P.peak

variable {D : Deployment} {P : Params}

/-- A session: outside a hold, or in one whose position, what its job has left (`debt`) and what its
program still computes stay within the peak. -/
structure SessOk (D : Deployment) (P : Params) (debt : Nat) (s : Sess) : Prop where
  turns : s.turns = none
  attrs : Bounded P.bound s.attrs
  place : (s.stack = [] ∧ Ok D P false s.prog) ∨
    ∃ r k u x, s.stack = [.hold r k] ∧ Ok D P true s.prog ∧ Ok D P false k ∧ r.cache = none ∧
      r.allocs = [⟨P.slots, 1, 0⟩, ⟨P.memory, u, x⟩] ∧ u ≤ top D P ∧
      x + growth P s.prog + debt ≤ P.peak

/-- What session `i`'s jobs have left. -/
def leftOf (i : Nat) : List Job → Nat
  | [] => 0
  | j :: js => if j.owner = i then j.left + leftOf i js else leftOf i js

/-- What session `i` has still to compute of its job, beyond the batch. -/
def debt (m : Machine) (i : Nat) : Nat := leftOf i m.jobs - tokensOf i m.plan.batch

/-- An entry of the batch is that of a job, and of no more than it has left. -/
def EntryOk (m : Machine) (e : Entry) : Prop :=
  ∃ j ∈ m.jobs, j.owner = e.owner ∧ e.tokens ≤ j.left ∧ (e.ends = true → j.left ≤ e.tokens)

/-- A job is that of a session at the engine. -/
def JobOk (P : Params) (m : Machine) (j : Job) : Prop :=
  j.owner < m.sess.size ∧ (m.at_ j.owner).status = .engine ∧
    (j.growing = none ∨ j.growing = some P.memory)

/-- The state of a path: nobody has been preempted, and memory is what the slots hold. -/
structure Inv (D : Deployment) (P : Params) (m : Machine) : Prop where
  sess : ∀ i, SessOk D P (debt m i) (m.at_ i)
  jobs : ∀ j ∈ m.jobs, JobOk P m j
  owners : DistinctOwners m.jobs
  batch : ∀ e ∈ m.plan.batch, EntryOk m e
  entries : DistinctEntries m.plan.batch
  nodup : (m.pool P.slots).queue.Nodup
  queued : ∀ i ∈ (m.pool P.slots).queue, (m.at_ i).status = .queued
  others : ∀ p, p ≠ P.slots → (m.pool p).queue = []
  born : ∀ i, i < m.sess.size → m.clock.arrived ≤ i → (m.at_ i).status = .unborn
  lens : m.pools.length = D.pools.length
  used : (m.pool P.memory).used ≤ heldTotal P.memory m
  taken : heldTotal P.slots m ≤ (m.pool P.slots).used
  cap : (m.pool P.slots).used ≤ (D.pool P.slots).cap
  calm : m.plan.preempts = 0
  kept : m.plan.victims = []
  last : m.clock.last.preempts = 0

/-! ## Small steps -/

/-- The same sessions, jobs, pools, plan and clock. -/
theorem Inv.of_eq {m m' : Machine} (h : Inv D P m) (hs : m'.sess = m.sess) (hj : m'.jobs = m.jobs)
    (hp : m'.pools = m.pools) (hl : m'.plan = m.plan) (hc : m'.clock = m.clock) : Inv D P m' := by
  have hat : ∀ i, m'.at_ i = m.at_ i := fun i => by simp [Machine.at_, hs]
  have hpool : ∀ p, m'.pool p = m.pool p := fun p => by simp [Machine.pool, hp]
  have hd : ∀ i, debt m' i = debt m i := fun i => by simp [debt, hj, hl]
  refine ⟨fun i => by rw [hat, hd]; exact h.sess i, ?_, by rw [hj]; exact h.owners, ?_,
    by rw [hl]; exact h.entries, by rw [hpool]; exact h.nodup, ?_,
    fun p hne => by rw [hpool]; exact h.others p hne, ?_, by rw [hp]; exact h.lens,
    by rw [hpool, heldTotal_eq hs]; exact h.used, by rw [hpool, heldTotal_eq hs]; exact h.taken,
    by rw [hpool]; exact h.cap, by rw [hl]; exact h.calm, by rw [hl]; exact h.kept,
    by rw [hc]; exact h.last⟩
  · intro j hj'
    obtain ⟨h1, h2, h3⟩ := h.jobs j (by rwa [hj] at hj')
    exact ⟨by rwa [hs], by rwa [hat], h3⟩
  · intro e he
    obtain ⟨j, hj', h'⟩ := h.batch e (by rwa [hl] at he)
    exact ⟨j, by rwa [hj], h'⟩
  · intro i hi; rw [hat]; exact h.queued i (by rwa [hpool] at hi)
  · intro i hi ha; rw [hat]; exact h.born i (by rwa [hs] at hi) (by rwa [hc] at ha)

/-- After a change of one session all hold what the others held and what it holds now. -/
theorem heldTotal_mod (p : Nat) {i : Nat} {m : Machine} (hi : i < m.sess.size) (f : Sess → Sess) :
    heldTotal p (m.modSess i f) = heldOthers p i m + heldOn p (f (m.at_ i)).stack := by
  rw [heldTotal_split p i, heldOthers_modSess, at_mod_self hi]

/-- A change of a session that keeps its stack changes nothing of what is held. -/
theorem heldTotal_same (p i : Nat) (m : Machine) (f : Sess → Sess)
    (h : (f (m.at_ i)).stack = (m.at_ i).stack) : heldTotal p (m.modSess i f) = heldTotal p m := by
  by_cases hi : i < m.sess.size
  · rw [heldTotal_mod p hi, h, ← heldTotal_split]
  · have : (m.modSess i f).sess = m.sess := by
      have hl : ∀ (l : List Sess) (n : Nat), l.length ≤ n → Lst.mod f l n = l := by
        intro l
        induction l with
        | nil => intro n _; rfl
        | cons a l ih =>
          intro n hn
          cases n with
          | zero => simp at hn
          | succ n => simp [Lst.mod, ih n (by simpa using hn)]
      have := hl m.sess.toList i (by simpa using hi)
      simp only [Machine.modSess, Arr.mod]
      rw [this]
    exact heldTotal_eq this

/-- A session that is ready is one of the sessions. -/
theorem lt_of_ready {m : Machine} {i : Nat} (h : (m.at_ i).status = .ready) : i < m.sess.size := by
  apply Nat.lt_of_not_le
  intro hle
  have : m.at_ i = default := by
    unfold Machine.at_ Arr.at!
    rw [Lst.nth_eq_getD, List.getD_eq_getElem?_getD, List.getElem?_eq_none (by simpa using hle)]
    rfl
  rw [this] at h
  exact absurd h (by decide)

/-- A change of a session that keeps its stack and whose new state fits. -/
theorem Inv.modSess {m : Machine} (h : Inv D P m) (i : Nat) (f : Sess → Sess)
    (hf : SessOk D P (debt m i) (f (m.at_ i))) (hstack : (f (m.at_ i)).stack = (m.at_ i).stack)
    (hjobs : ∀ j ∈ m.jobs, j.owner = i → (f (m.at_ i)).status = .engine)
    (hqueue : i ∈ (m.pool P.slots).queue → (f (m.at_ i)).status = .queued)
    (hborn : m.clock.arrived ≤ i → (f (m.at_ i)).status = .unborn) : Inv D P (m.modSess i f) := by
  have hsz : (m.modSess i f).sess.size = m.sess.size := by simp [Machine.modSess]
  have hd : ∀ k, debt (m.modSess i f) k = debt m k := fun _ => rfl
  have hsplit : ∀ k, (m.modSess i f).at_ k = m.at_ k ∨
      (k = i ∧ (m.modSess i f).at_ k = f (m.at_ i)) := by
    intro k
    rw [at_modSess]
    split
    · next hk => obtain ⟨rfl, _⟩ := hk; exact Or.inr ⟨rfl, rfl⟩
    · exact Or.inl rfl
  refine ⟨?_, ?_, h.owners, h.batch, h.entries, h.nodup, ?_, h.others, ?_, h.lens, ?_, ?_,
    h.cap, h.calm, h.kept, h.last⟩
  · intro k
    rw [hd]
    rcases hsplit k with hk | ⟨rfl, hk⟩ <;> rw [hk]
    · exact h.sess k
    · exact hf
  · intro j hj
    obtain ⟨h1, h2, h3⟩ := h.jobs j hj
    refine ⟨by rwa [hsz], ?_, h3⟩
    rcases hsplit j.owner with hk | ⟨hk', hk⟩ <;> rw [hk]
    · exact h2
    · exact hjobs j hj hk'
  · intro k hk
    rcases hsplit k with hk' | ⟨rfl, hk'⟩ <;> rw [hk']
    · exact h.queued k hk
    · exact hqueue hk
  · intro k hk ha
    rcases hsplit k with hk' | ⟨rfl, hk'⟩ <;> rw [hk']
    · exact h.born k (by rwa [hsz] at hk) ha
    · exact hborn ha
  · rw [heldTotal_same _ _ _ _ hstack]; exact h.used
  · rw [heldTotal_same _ _ _ _ hstack]; exact h.taken

/-- A ready session has no job, waits nowhere and has arrived. -/
theorem Inv.free {m : Machine} (h : Inv D P m) {i : Nat} (hs : (m.at_ i).status ≠ .engine)
    (hq : (m.at_ i).status ≠ .queued) (hu : (m.at_ i).status ≠ .unborn) (hi : i < m.sess.size) :
    (∀ j ∈ m.jobs, j.owner ≠ i) ∧ i ∉ (m.pool P.slots).queue ∧ ¬ m.clock.arrived ≤ i :=
  ⟨fun j hj he => hs (he ▸ (h.jobs j hj).2.1), fun hi' => hq (h.queued i hi'),
    fun ha => hu (h.born i hi ha)⟩

/-- Without a job nothing is owed. -/
theorem leftOf_absent {i : Nat} {js : List Job} (h : ∀ j ∈ js, j.owner ≠ i) : leftOf i js = 0 := by
  induction js with
  | nil => rfl
  | cons j js ih => simp [leftOf, h j (by simp), ih fun x hx => h x (by simp [hx])]

/-- A ready session goes on, with the same stack. -/
theorem Inv.step {m : Machine} (h : Inv D P m) {i : Nat} (hs : (m.at_ i).status = .ready)
    (f : Sess → Sess) (hf : SessOk D P 0 (f (m.at_ i)))
    (hstack : (f (m.at_ i)).stack = (m.at_ i).stack) : Inv D P (m.modSess i f) := by
  obtain ⟨h1, h2, h3⟩ := h.free (i := i) (by rw [hs]; simp) (by rw [hs]; simp) (by rw [hs]; simp)
    (lt_of_ready hs)
  refine h.modSess i f ?_ hstack (fun j hj he => absurd he (h1 j hj)) (fun hi => absurd hi h2)
    (fun ha => absurd ha h3)
  have : debt m i = 0 := by simp [debt, leftOf_absent h1]
  rw [this]
  exact hf

/-- What a ready session is. -/
theorem Inv.readySess {m : Machine} (h : Inv D P m) {i : Nat} (hs : (m.at_ i).status = .ready) :
    SessOk D P 0 (m.at_ i) := by
  obtain ⟨h1, _, _⟩ := h.free (i := i) (by rw [hs]; simp) (by rw [hs]; simp) (by rw [hs]; simp)
    (lt_of_ready hs)
  have : debt m i = 0 := by simp [debt, leftOf_absent h1]
  have h' := h.sess i
  rwa [this] at h'

end Serq.Peak
