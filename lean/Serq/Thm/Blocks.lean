import Serq.Thm.Path
/-!
# What a path can run is in the program

Every session's program, what waits below it, and every hold that may be executed again are parts of
the program text, and every job comes from one of its runs. Stated for any property of blocks that
passes to their parts, so that the text of a program can be used in proofs about its paths.
-/

namespace Serq

/-- The blocks that a block's first statement hands on to. -/
inductive Part : Block → Block → Prop
  | turn : Part k (.Turn k)
  | set : Part k (.Set slot e k)
  | observe : Part k (.Observe name e k)
  | holdBody : Part body (.Hold pools reuse body cache k)
  | holdNext : Part k (.Hold pools reuse body cache k)
  | drop : Part k (.Drop r k)
  | release : Part k (.Release r k)
  | run : Part k (.Run stage mode work growing k)
  | branchThen : Part a (.Branch g a b k)
  | branchElse : Part b (.Branch g a b k)
  | branchNext : Part k (.Branch g a b k)
  | loop : Part body (.Loop body)
  | whileBody : Part body (.While g body k)
  | whileNext : Part k (.While g body k)
  | choose : Part k (.Choose slot n keys k)

/-- A property of blocks that passes to their parts, and that the end of a block has. -/
structure Closed (G : Block → Prop) : Prop where
  done : G .Done
  part : ∀ {a b}, Part a b → G b → G a

/-- The parts of program `P`, at any depth, and the end of a block. -/
inductive Sub (P : Block) : Block → Prop
  | self : Sub P P
  | done : Sub P .Done
  | part {a b : Block} : Part a b → Sub P b → Sub P a

/-- Being a part of `P` passes to parts. -/
theorem closed_sub (P : Block) : Closed (Sub P) := ⟨.done, fun h h' => .part h h'⟩

/-- Growing nothing passes to parts. -/
theorem closed_grows : Closed (fun b => b.grows = false) where
  done := rfl
  part := by
    intro a b h hb
    cases h <;> simp_all [Block.grows]

/-- A frame's blocks have the property. -/
def FrameOk (G : Block → Prop) : Frame → Prop
  | .seq k => G k
  | .hold r k => G k ∧ G r.stmt

/-- A session's blocks have the property. -/
structure SessOk (G : Block → Prop) (s : Sess) : Prop where
  prog : G s.prog
  stack : ∀ f ∈ s.stack, FrameOk G f

/-- A job comes from a run with the property. -/
def JobOk (G : Block → Prop) (j : Job) : Prop :=
  ∃ stage mode work growing k, G (.Run stage mode work growing k) ∧ j.mode = mode ∧
    (growing = none → j.growing = none)

/-- Every session's blocks have the property, and every job comes from a run with it. -/
structure BlocksOk (G : Block → Prop) (m : Machine) : Prop where
  sess : ∀ i, SessOk G (m.at_ i)
  jobs : ∀ j ∈ m.jobs, JobOk G j

variable {G : Block → Prop}

/-- A session after a change of it, or of another session. -/
theorem at_modSess (m : Machine) (i j : Nat) (f : Sess → Sess) :
    (m.modSess i f).at_ j = if i = j ∧ i < m.sess.size then f (m.at_ j) else m.at_ j := by
  simp [Machine.at_, Machine.modSess, Arr.at_mod]

/-- A change of a session that keeps the property of its blocks. -/
theorem BlocksOk.modSess {m : Machine} (h : BlocksOk G m) (i : Nat) (f : Sess → Sess)
    (hf : SessOk G (m.at_ i) → SessOk G (f (m.at_ i))) : BlocksOk G (m.modSess i f) where
  sess j := by
    rw [at_modSess]
    split
    · next hij =>
      obtain ⟨rfl, _⟩ := hij
      exact hf (h.sess i)
    · exact h.sess j
  jobs := h.jobs

/-- A change that leaves sessions and jobs alone. -/
theorem BlocksOk.of_eq {m m' : Machine} (h : BlocksOk G m) (hs : m'.sess = m.sess)
    (hj : m'.jobs = m.jobs) : BlocksOk G m' where
  sess i := by
    have : m'.at_ i = m.at_ i := by simp [Machine.at_, hs]
    rw [this]
    exact h.sess i
  jobs := by rw [hj]; exact h.jobs

/-! ## Pools leave sessions and jobs alone -/

/-- Making room leaves sessions and jobs alone. -/
theorem makeRoom_sess (D : Deployment) (m : Machine) (p need : Nat) :
    (makeRoom D m p need).sess = m.sess ∧ (makeRoom D m p need).jobs = m.jobs := by
  unfold makeRoom
  simp only
  split <;> exact ⟨rfl, rfl⟩

/-- Taking one allocation leaves sessions and jobs alone. -/
theorem takeOne_sess (D : Deployment) (i : Nat) (caching : Bool) (m : Machine) (a : Alloc) :
    (takeOne D i caching m a).sess = m.sess ∧ (takeOne D i caching m a).jobs = m.jobs := by
  have h := makeRoom_sess D
  unfold takeOne
  simp only
  split
  · simp only [Machine.modPool, h]
    exact ⟨trivial, trivial⟩
  · simp only [Machine.modPool, h]
    exact ⟨trivial, trivial⟩

/-- Taking the allocations of a hold leaves sessions and jobs alone. -/
theorem takeAll_sess (D : Deployment) (i : Nat) (caching : Bool) (as : List Alloc) (m : Machine) :
    (takeAll D i caching as m).sess = m.sess ∧ (takeAll D i caching as m).jobs = m.jobs := by
  induction as generalizing m with
  | nil => exact ⟨rfl, rfl⟩
  | cons a as ih =>
    unfold takeAll
    rw [(ih _).1, (ih _).2]
    exact takeOne_sess D i caching m a

/-- Giving one allocation back leaves sessions and jobs alone. -/
theorem giveOne_sess (D : Deployment) (i : Nat) (grown : Bool) (value : Option Nat) (m : Machine)
    (a : Alloc) :
    (giveOne D i grown value m a).sess = m.sess ∧ (giveOne D i grown value m a).jobs = m.jobs := by
  unfold giveOne
  simp only
  split <;> exact ⟨rfl, rfl⟩

/-- Giving allocations back leaves sessions and jobs alone. -/
theorem giveAll_sess (D : Deployment) (i : Nat) (grown : Bool) (value : Option Nat)
    (as : List Alloc) (m : Machine) :
    (giveAll D i grown value as m).sess = m.sess ∧
      (giveAll D i grown value as m).jobs = m.jobs := by
  induction as generalizing m with
  | nil => exact ⟨rfl, rfl⟩
  | cons a as ih =>
    unfold giveAll
    rw [(ih _).1, (ih _).2]
    exact giveOne_sess D i grown value m a

/-! ## Commands -/

/-- Releasing a hold keeps the property of all blocks. -/
theorem BlocksOk.releaseHold {m : Machine} (h : BlocksOk G m) (D : Deployment) (i : Nat)
    (r : HoldRec) (grown : Bool) : BlocksOk G (releaseHold D i r grown m) := by
  have h1 := h.modSess i (fun s => { s with snap := s.attrs }) fun hs => ⟨hs.prog, hs.stack⟩
  exact h1.of_eq (giveAll_sess D i grown _ r.allocs _).1 (giveAll_sess D i grown _ r.allocs _).2

/-- Releasing all holds of a session keeps the property of all blocks. -/
theorem BlocksOk.releaseStack {m : Machine} (h : BlocksOk G m) (D : Deployment) (i : Nat)
    (st : List Frame) : BlocksOk G (releaseStack D i st m) := by
  induction st generalizing m with
  | nil => exact h
  | cons f st ih =>
    cases f with
    | seq k => exact ih h
    | hold r k => exact ih (h.releaseHold D i r r.grown)

/-- Ending a session keeps the property of all blocks. -/
theorem BlocksOk.endSession {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (i : Nat) : BlocksOk G (endSession D m i) :=
  (h.releaseStack D i _).modSess i _ fun _ => ⟨hG.done, by simp⟩

/-- Joining a queue, or being rejected keeps the property of all blocks. -/
theorem BlocksOk.enqueue {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment) (i : Nat)
    (front : Bool) : BlocksOk G (enqueue D m i front) := by
  unfold Serq.enqueue
  split
  · simp only
    split
    · exact BlocksOk.of_eq (BlocksOk.endSession hG (by exact h.of_eq rfl rfl) D i) rfl rfl
    · exact (h.of_eq (m' := m.modPool _ _) rfl rfl).modSess i _ fun hs => ⟨hs.prog, hs.stack⟩
  · exact h

/-- Admitting a session keeps the property of all blocks. -/
theorem BlocksOk.admit {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (p i left : Nat) : BlocksOk G (admit D m p i left) := by
  unfold Serq.admit
  split
  · next pools reuse body cache k hp =>
    simp only
    have hi := (h.sess i).prog
    rw [hp] at hi
    have h1 : BlocksOk G (takeAll D i cache.isSome (holdAllocs D m i left pools reuse cache)
        (leaveQueue m p i)) :=
      (h.of_eq (m' := leaveQueue m p i) rfl rfl).of_eq (takeAll_sess D i _ _ _).1
        (takeAll_sess D i _ _ _).2
    unfold tally enterBody
    simp only
    refine BlocksOk.of_eq (h1.modSess i _ fun hs => ?_) rfl rfl
    refine ⟨hG.part .holdBody hi, ?_⟩
    intro f hf
    rcases List.mem_cons.mp hf with rfl | hf
    · exact ⟨hG.part .holdNext hi, hi⟩
    · exact hs.stack f hf
  · exact h

/-- Admitting at one pool keeps the property of all blocks. -/
theorem BlocksOk.admitHeads {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (p fuel : Nat) : BlocksOk G (admitHeads D p fuel m) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl
  | succ fuel ih =>
    unfold Serq.admitHeads
    split
    · exact h
    · split
      · exact ih (h.admit hG D p _ 0)
      · exact h

/-- Admitting at some pools keeps the property of all blocks. -/
theorem BlocksOk.admitPools {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (Ps : List Pool) (p : Nat) : BlocksOk G (admitPools D Ps p m) := by
  induction Ps generalizing m p with
  | nil => exact h
  | cons P Ps ih =>
    unfold Serq.admitPools
    refine ih ?_ _
    split
    · exact h
    · exact h.admitHeads hG D p _

/-- Admitting at every pool that no engine serves keeps the property of all blocks. -/
theorem BlocksOk.admitAll {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment) :
    BlocksOk G (admitAll D m) := h.admitPools hG D D.pools 0

/-- Starting a service keeps the property of all blocks. -/
theorem BlocksOk.serveFor {m : Machine} (h : BlocksOk G m) (i s w : Nat) :
    BlocksOk G (serveFor m i s w) :=
  (h.modSess i (fun x => { x with status := .serving m.nextEvent })
    fun hs => ⟨hs.prog, hs.stack⟩).of_eq rfl rfl

/-- A job inserted among others is there, and the others are too. -/
theorem mem_insertJob (j x : Job) (js : List Job) : x ∈ insertJob j js ↔ x = j ∨ x ∈ js := by
  induction js with
  | nil => simp [insertJob]
  | cons y js ih =>
    unfold insertJob
    split
    · simp only [List.mem_cons, ih]
      constructor
      · rintro (h | h | h) <;> simp [h]
      · rintro (h | h | h) <;> simp [h]
    · simp

/-- Starting a run keeps the property of all blocks. -/
theorem BlocksOk.startRun {m : Machine} (h : BlocksOk G m) (D : Deployment) (i s : Nat) (mode : Mode)
    (w : Nat) (growing : Option Nat)
    (hj : ∀ j : Job, j.mode = mode → j.growing = growing → JobOk G j) :
    BlocksOk G (startRun D m i s mode w growing) := by
  unfold Serq.startRun
  split
  · exact h.serveFor i s w
  · split
    · exact BlocksOk.serveFor (h.of_eq (m' := m.modStage s _) rfl rfl) i s w
    · exact BlocksOk.modSess (h.of_eq (m' := m.modStage s _) rfl rfl) i _
        fun hs => ⟨hs.prog, hs.stack⟩
  · simp only
    have h1 := h.modSess i (fun x => { x with status := .engine }) fun hs => ⟨hs.prog, hs.stack⟩
    refine ⟨h1.sess, ?_⟩
    intro j hjm
    rcases (mem_insertJob _ _ _).mp hjm with rfl | hjm
    · exact hj _ rfl rfl
    · exact h.jobs j hjm

/-- Giving a pool back keeps the property of the frames. -/
theorem frameOk_dropInnermost (p : Nat) {st : List Frame} (h : ∀ f ∈ st, FrameOk G f) :
    ∀ f ∈ dropInnermost p st, FrameOk G f := by
  induction st with
  | nil => exact h
  | cons f st ih =>
    have hf := h f (by simp)
    have hst : ∀ g ∈ st, FrameOk G g := fun g hg => h g (by simp [hg])
    cases f with
    | seq k =>
      intro g hg
      rcases List.mem_cons.mp hg with rfl | hg
      · exact hf
      · exact ih hst g hg
    | hold r k =>
      unfold dropInnermost
      split
      · intro g hg
        rcases List.mem_cons.mp hg with rfl | hg
        · exact hf
        · exact ih hst g hg
      · intro g hg
        rcases List.mem_cons.mp hg with rfl | hg
        · exact hf
        · exact hst g hg

/-- Releasing one pool of a hold keeps the property of all blocks. -/
theorem BlocksOk.releasePool {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (i p : Nat) : BlocksOk G (releasePool D m i p) := by
  unfold Serq.releasePool
  split
  · exact h
  · split
    · exact h
    · next r _ a _ =>
      refine BlocksOk.of_eq (BlocksOk.admitAll hG ?_ D) rfl rfl
      have h1 := h.modSess i (fun s => { s with snap := s.attrs }) fun hs => ⟨hs.prog, hs.stack⟩
      refine BlocksOk.modSess (h1.of_eq (giveOne_sess D i _ _ _ a).1 (giveOne_sess D i _ _ _ a).2) i _
        fun hs => ⟨hs.prog, frameOk_dropInnermost p hs.stack⟩

/-- Ending a hold keeps the property of all blocks. -/
theorem BlocksOk.finishHold {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (i : Nat) (r : HoldRec) (k : Block) (st : List Frame) (hk : G k)
    (hst : ∀ f ∈ st, FrameOk G f) : BlocksOk G (finishHold D m i r k st) :=
  BlocksOk.of_eq
    (BlocksOk.admitAll hG ((h.releaseHold D i r r.grown).modSess i _ fun _ => ⟨hk, hst⟩) D) rfl rfl

/-- No reference names no pool. -/
theorem evalRef_none {env : Env} {g : Option Ref} (h : g = none) : evalRef env g = none := by
  rw [h]
  rfl

/-- Running a session's commands keeps the property of all blocks. -/
theorem BlocksOk.exec {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (fuel i : Nat) : BlocksOk G (exec D fuel m i) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl
  | succ fuel ih =>
    have hp := (h.sess i).prog
    have hst := (h.sess i).stack
    unfold Serq.exec
    simp only
    split
    · split
      · split
        · exact h.modSess i _ fun hs => ⟨hs.prog, hs.stack⟩
        · next k st heq =>
          rw [heq] at hst
          exact ih (h.modSess i _ fun _ =>
            ⟨hst (.seq k) (by simp), fun f hf => hst f (by simp [hf])⟩)
        · next r k st heq =>
          rw [heq] at hst
          exact ih (h.finishHold hG D i r k st (hst (.hold r k) (by simp)).1
            fun f hf => hst f (by simp [hf]))
      · exact h.endSession hG D i
      · next k heq =>
        rw [heq] at hp
        refine ih (h.modSess i _ fun hs => ?_)
        unfold nextTurn
        simp only
        split
        · exact ⟨hG.part .turn hp, hs.stack⟩
        · exact ⟨hG.part .turn hp, hs.stack⟩
        · exact ⟨hG.part .turn hp, hs.stack⟩
      · next heq =>
        rw [heq] at hp
        exact ih (h.modSess i _ fun hs => ⟨hG.part .set hp, hs.stack⟩)
      · next heq =>
        rw [heq] at hp
        exact ih (BlocksOk.of_eq (h.modSess i _ fun hs => ⟨hG.part .observe hp, hs.stack⟩) rfl rfl)
      · exact h.enqueue hG D i false
      · next heq =>
        rw [heq] at hp
        exact ih (BlocksOk.modSess (h.of_eq (m' := m.modPool _ _) rfl rfl) i _
          fun hs => ⟨hG.part .drop hp, hs.stack⟩)
      · next heq =>
        rw [heq] at hp
        exact ih (BlocksOk.releasePool hG
          (h.modSess i _ fun hs => ⟨hG.part .release hp, hs.stack⟩) D i _)
      · next stage mode work growing k heq =>
        rw [heq] at hp
        have h1 := h.modSess i (fun s => { s with prog := k })
          fun hs => ⟨hG.part .run hp, hs.stack⟩
        split
        · exact h1.of_eq rfl rfl
        · refine h1.startRun D i _ mode _ _ fun j hm hg => ?_
          exact ⟨stage, mode, work, growing, k, hp, hm,
            fun hn => hg.trans (evalRef_none hn)⟩
      · next heq =>
        rw [heq] at hp
        refine ih (h.modSess i _ fun hs => ⟨?_, ?_⟩)
        · split
          · exact hG.part .branchElse hp
          · exact hG.part .branchThen hp
        · intro f hf
          rcases List.mem_cons.mp hf with rfl | hf
          · exact hG.part .branchNext hp
          · exact hs.stack f hf
      · next heq =>
        rw [heq] at hp
        refine ih (h.modSess i _ fun hs => ⟨hG.part .loop hp, ?_⟩)
        intro f hf
        rcases List.mem_cons.mp hf with rfl | hf
        · exact hp
        · exact hs.stack f hf
      · next heq =>
        rw [heq] at hp
        split
        · exact ih (h.modSess i _ fun hs => ⟨hG.part .whileNext hp, hs.stack⟩)
        · refine ih (h.modSess i _ fun hs => ⟨hG.part .whileBody hp, ?_⟩)
          intro f hf
          rcases List.mem_cons.mp hf with rfl | hf
          · exact hp
          · exact hs.stack f hf
      · next heq =>
        rw [heq] at hp
        exact ih (h.modSess i _ fun hs => ⟨hG.part .choose hp, hs.stack⟩)
    · exact h

/-- Running all ready sessions keeps the property of all blocks. -/
theorem BlocksOk.drain {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (fuel : Nat) : BlocksOk G (drain D fuel m) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl
  | succ fuel ih =>
    unfold Serq.drain
    split
    · exact h
    · exact ih (BlocksOk.exec hG (by exact h.of_eq rfl rfl) D _ _)

/-- Settling keeps the property of all blocks. -/
theorem BlocksOk.settle {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (fuel : Nat) : BlocksOk G (settle D fuel m) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl
  | succ fuel ih =>
    unfold Serq.settle
    simp only
    have h1 := (h.drain hG D instantFuel).admitAll hG D
    split
    · exact h1
    · exact ih h1

/-! ## Iterations -/

/-- A changed allocation keeps the property of the frames. -/
theorem frameOk_modInnermost (p : Nat) (f : Alloc → Alloc) {st : List Frame}
    (h : ∀ g ∈ st, FrameOk G g) : ∀ g ∈ modInnermost p f st, FrameOk G g := by
  induction st with
  | nil => exact h
  | cons x st ih =>
    have hx := h x (by simp)
    have hst : ∀ g ∈ st, FrameOk G g := fun g hg => h g (by simp [hg])
    cases x with
    | seq k =>
      intro g hg
      rcases List.mem_cons.mp hg with rfl | hg
      · exact hx
      · exact ih hst g hg
    | hold r k =>
      unfold modInnermost
      split
      · intro g hg
        rcases List.mem_cons.mp hg with rfl | hg
        · exact hx
        · exact ih hst g hg
      · intro g hg
        rcases List.mem_cons.mp hg with rfl | hg
        · exact hx
        · exact hst g hg

/-- Unwinding a preempted session to its hold keeps the property of all blocks. -/
theorem BlocksOk.unwind {m : Machine} (h : BlocksOk G m) (D : Deployment) (p i : Nat)
    {st : List Frame} (hst : ∀ f ∈ st, FrameOk G f) : BlocksOk G (unwind D p i st m) := by
  induction st generalizing m with
  | nil => exact h.modSess i _ fun hs => ⟨hs.prog, by simp⟩
  | cons f st ih =>
    have hst' : ∀ g ∈ st, FrameOk G g := fun g hg => hst g (by simp [hg])
    cases f with
    | seq k => exact ih h hst'
    | hold r k =>
      unfold Serq.unwind
      simp only
      have h1 := h.releaseHold D i r true
      split
      · exact ih h1 hst'
      · exact h1.modSess i _ fun _ => ⟨(hst (.hold r k) (by simp)).2, hst'⟩

/-- What remains after removing a job was there before. -/
theorem mem_removeJob {i : Nat} {x : Job} {js : List Job} (h : x ∈ removeJob i js) : x ∈ js := by
  induction js with
  | nil => exact h
  | cons j js ih =>
    unfold removeJob at h
    split at h
    · exact List.mem_cons_of_mem _ (ih h)
    · rcases List.mem_cons.mp h with rfl | h
      · exact List.mem_cons_self
      · exact List.mem_cons_of_mem _ (ih h)

/-- A preemption keeps the property of all blocks. -/
theorem BlocksOk.preempt {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (p i : Nat) : BlocksOk G (preempt D p i m) := by
  unfold Serq.preempt
  simp only
  have h1 : BlocksOk G (moveTo (m.setAttr i D.slotComputed (computedPos m i p)) i p
      (computedPos m i p)) :=
    BlocksOk.modSess (h.modSess i _ fun hs => ⟨hs.prog, hs.stack⟩) i _
      fun hs => ⟨hs.prog, frameOk_modInnermost p _ hs.stack⟩
  have h2 : BlocksOk G { moveTo (m.setAttr i D.slotComputed (computedPos m i p)) i p
      (computedPos m i p) with
      jobs := removeJob i m.jobs, plan := withoutVictim i m.plan } :=
    ⟨h1.sess, fun j hj => h.jobs j (mem_removeJob hj)⟩
  exact BlocksOk.of_eq (BlocksOk.enqueue hG (BlocksOk.unwind h2 D p i (h2.sess i).stack) D i _)
    rfl rfl

/-- A growth, with the preemptions that it needs, keeps the property of all blocks. -/
theorem BlocksOk.grow {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (p i need fuel : Nat) : BlocksOk G (grow D p i need fuel m).1 := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl
  | succ fuel ih =>
    unfold Serq.grow
    split
    · have h1 := h.of_eq (makeRoom_sess D m p need).1 (makeRoom_sess D m p need).2
      exact BlocksOk.modSess (h1.of_eq (m' := takeUnits _ p need) rfl rfl) i _
        fun hs => ⟨hs.prog, frameOk_modInnermost p _ hs.stack⟩
    · split
      · exact h
      · split
        · exact h.preempt hG D p _
        · exact ih (h.preempt hG D p _)

/-- Serving a resident keeps the property of all blocks. -/
theorem BlocksOk.serveJob {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (cap : Nat) (j : Job) : BlocksOk G (serveJob D cap j m).1 := by
  unfold Serq.serveJob
  split
  · exact h
  · split
    · exact h
    · simp only
      split
      · exact h
      · unfold giveTokens
        split
        · exact h.of_eq rfl rfl
        · next p _ =>
          split
          · exact h
          · next a _ =>
            simp only
            split
            · exact BlocksOk.of_eq (h.modSess j.owner _
                fun hs => ⟨hs.prog, frameOk_modInnermost p _ hs.stack⟩) rfl rfl
            · have hg := h.grow hG D p j.owner
                (roundUp (D.pool p).block (a.pos + tokensFor cap j m) - a.units) (m.jobs.length + 1)
              split
              · next m' heq =>
                rw [heq] at hg
                exact BlocksOk.of_eq (hg.modSess j.owner _
                  fun hs => ⟨hs.prog, frameOk_modInnermost p _ hs.stack⟩) rfl rfl
              · next m' heq => rw [heq] at hg; exact hg

/-- Serving the residents keeps the property of all blocks. -/
theorem BlocksOk.serveAll {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (cap fuel : Nat) (todo : List Job) : BlocksOk G (serveAll D cap fuel todo m) := by
  induction fuel generalizing todo m with
  | zero => exact h
  | succ fuel ih =>
    unfold Serq.serveAll
    split
    · exact h
    · next j rest _ =>
      have h1 := h.serveJob hG D cap j
      split
      · next m' heq => rw [heq] at h1; exact h1
      · next m' heq =>
        rw [heq] at h1
        split
        · exact h1
        · exact ih h1 rest

/-- Admitting and serving a session in an iteration keeps the property of all blocks. -/
theorem BlocksOk.admitNext {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (cap p i : Nat) : BlocksOk G (admitNext D cap p i m) := by
  unfold Serq.admitNext
  simp only
  have h0 := h.admit hG D p i m.plan.left
  have h1 : BlocksOk G (Serq.drain D instantFuel { Serq.admit D m p i m.plan.left with
      plan := { (Serq.admit D m p i m.plan.left).plan with
        entered := (Serq.admit D m p i m.plan.left).plan.entered ++
          [(i, Arr.at! ((Serq.admit D m p i m.plan.left).at_ i).attrs D.slotCached)] } }) :=
    BlocksOk.drain hG (by exact h0.of_eq rfl rfl) D _
  split
  · exact h1
  · exact h1.serveJob hG D cap _

/-- Serving the queues of the engine keeps the property of all blocks. -/
theorem BlocksOk.admitWaiting {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (cap fuel : Nat) : BlocksOk G (admitWaiting D cap fuel m) := by
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
            · exact ih (h.admitNext hG D cap _ _)
            · exact h

/-- Building a batch keeps the property of all blocks. -/
theorem BlocksOk.buildBatch {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment)
    (cap : Nat) : BlocksOk G (buildBatch D cap m) :=
  BlocksOk.admitWaiting hG (BlocksOk.serveAll hG (by exact h.of_eq rfl rfl) D cap _ _) D cap _

/-- Starting an iteration keeps the property of all blocks. -/
theorem BlocksOk.startIteration {m : Machine} (hG : Closed G) (h : BlocksOk G m) (D : Deployment) :
    BlocksOk G (startIteration D m) := by
  have hb := h.buildBatch hG D (chunkCap D m)
  rcases startIteration_cases D m with hs | ⟨hs, _, _⟩ | hs <;> rw [hs]
  · exact h
  · exact hb
  · exact hb.of_eq rfl rfl

/-! ## Events -/

/-- Making a session ready keeps the property of all blocks. -/
theorem BlocksOk.wake {m : Machine} (h : BlocksOk G m) (i : Nat) : BlocksOk G (wake m i) :=
  (h.modSess i (fun s => { s with status := .ready }) fun hs => ⟨hs.prog, hs.stack⟩).of_eq rfl rfl

/-- The end of an iteration, for its sessions, keeps the property of all blocks. -/
theorem BlocksOk.applyEntries {m : Machine} (h : BlocksOk G m) (es : List Entry) :
    BlocksOk G (applyEntries es m) := by
  induction es generalizing m with
  | nil => exact h
  | cons e es ih =>
    refine ih ?_
    unfold applyEntry
    split
    · exact h.wake _
    · exact h

/-- The jobs that an iteration leaves come from the same runs. -/
theorem jobOk_unfinished {batch : List Entry} {js : List Job} (h : ∀ j ∈ js, JobOk G j) :
    ∀ j ∈ unfinished (applyBatch batch js), JobOk G j := by
  induction js with
  | nil => exact h
  | cons x js ih =>
    have ih' := ih fun j hj => h j (by simp [hj])
    unfold applyBatch unfinished
    split
    · exact ih'
    · intro j hj
      rcases List.mem_cons.mp hj with rfl | hj
      · obtain ⟨a, b, c, d, e, h1, h2, h3⟩ := h x (by simp)
        exact ⟨a, b, c, d, e, h1, h2, h3⟩
      · exact ih' j hj

/-- An event keeps the property of all blocks. -/
theorem BlocksOk.handle {m : Machine} (h : BlocksOk G m) (D : Deployment) (t : Nat) (e : Ev) :
    BlocksOk G (handle D t e m) := by
  have h0 : BlocksOk G { m with clock := { m.clock with now := t } } := h.of_eq rfl rfl
  unfold Serq.handle
  cases e with
  | iterEnd =>
    simp only [endIteration]
    exact ⟨(h0.applyEntries m.plan.batch).sess, jobOk_unfinished h.jobs⟩
  | arrival =>
    simp only [arrive]
    refine BlocksOk.wake ?_ _
    unfold scheduleArrival
    split <;> exact h.of_eq rfl rfl
  | due =>
    simp only
    split
    · exact h0
    · next d ds _ =>
      have h1 : BlocksOk G { m with clock := { m.clock with now := t }, dues := ds } :=
        h.of_eq rfl rfl
      have h2 : BlocksOk G (freeServer D
          { m with clock := { m.clock with now := t }, dues := ds } d.stage) := by
        unfold freeServer
        split
        · unfold nextService
          split
          · exact h1.of_eq rfl rfl
          · exact BlocksOk.serveFor (by exact h1.of_eq rfl rfl) _ _ _
        · exact h1
      unfold endService
      simp only
      split
      · exact h2.wake _
      · exact h2

/-- The sessions of a workload start with the program. -/
theorem sessOk_newSessions {D : Deployment} {P : Block} {status : Status} (hG : Closed G) (hP : G P)
    (i : Nat) (as : List (List (Nat × Nat))) (ts : List (Option (List (List (Nat × Nat))))) (j : Nat) :
    SessOk G (Lst.nth default (newSessions D P status i as ts) j) := by
  induction as generalizing i ts j with
  | nil => cases ts <;> exact ⟨hG.done, by simp [newSessions, Lst.nth, default]⟩
  | cons a as ih =>
    cases ts with
    | nil =>
      cases j with
      | zero => exact ⟨hP, by simp [newSessions, Lst.nth, newSess]⟩
      | succ j => exact ih (i + 1) [] j
    | cons t ts =>
      cases j with
      | zero => exact ⟨hP, by simp [newSessions, Lst.nth, newSess]⟩
      | succ j => exact ih (i + 1) ts j

/-- The start keeps the property of all blocks. -/
theorem BlocksOk.initial (hG : Closed G) {P : Block} (hP : G P) (D : Deployment) (w : Workload) :
    BlocksOk G (initial D w P) := by
  unfold Serq.initial
  simp only
  split
  · exact ⟨fun i => sessOk_newSessions hG hP 0 w.init w.turns i, by simp [default]⟩
  · unfold scheduleArrival
    split <;> exact ⟨fun i => sessOk_newSessions hG hP 0 w.init w.turns i, by simp [default]⟩

/-- On every path, all blocks have a property that the program has and that passes to parts, and every
job comes from a run with it. -/
theorem reach_blocks (hG : Closed G) {D : Deployment} {w : Workload} {P : Block} (hP : G P)
    {m : Machine} (hm : Reach D w P m) : BlocksOk G m :=
  reach_invariant (BlocksOk G) (BlocksOk.initial hG hP D w) (fun _ h => h.settle hG D _)
    (fun _ h _ => h.startIteration hG D) (fun _ t _ e h _ => h.handle D t e) hm

/-- On every path, every session's program, what waits below it and every hold that may be executed
again are parts of the program, and every job comes from one of the program's runs. -/
theorem reach_sub {D : Deployment} {w : Workload} {P : Block} {m : Machine} (hm : Reach D w P m) :
    BlocksOk (Sub P) m :=
  reach_blocks (closed_sub P) .self hm

/-- A program without a growing run has no growing job. -/
theorem jobs_not_growing {m : Machine} (h : BlocksOk (fun b => b.grows = false) m) :
    ∀ j ∈ m.jobs, j.growing = none := by
  intro j hj
  obtain ⟨_, _, _, growing, _, h1, _, h3⟩ := h.jobs j hj
  refine h3 ?_
  cases growing with
  | none => rfl
  | some r => simp [Block.grows] at h1

end Serq
