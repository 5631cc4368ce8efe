import Serq.Thm.PeakExec
/-!
# Where every slot's peak fits: admission, and how an instant settles
-/

namespace Serq.Peak

open TwoRuns

variable {D : Deployment} {P : Params}

/-- Taking allocations keeps the queues, and adds their units. -/
theorem takeAll_pools (D : Deployment) (i : Nat) (as : List Alloc) (m : Machine) (k : Nat) :
    ((takeAll D i false as m).pool k).queue = (m.pool k).queue ∧
    (k < m.pools.length →
      ((takeAll D i false as m).pool k).used = (m.pool k).used + unitsOn k as) := by
  induction as generalizing m with
  | nil => exact ⟨rfl, fun _ => rfl⟩
  | cons a as ih =>
    have hone : ((takeOne D i false m a).pool k).queue = (m.pool k).queue ∧
        (k < m.pools.length → ((takeOne D i false m a).pool k).used =
          (m.pool k).used + if a.pool = k then a.units else 0) := by
      have hu := makeRoom_used D m a.pool a.units k
      have hlen := (same_makeRoom D m a.pool a.units).pools
      simp only [takeOne, Bool.false_eq_true, if_false]
      rw [pool_modPool, hlen]
      split
      · next h => obtain ⟨rfl, _⟩ := h; simp [hu.1, hu.2.2.1]
      · next h =>
        refine ⟨hu.2.2.1, fun hk => ?_⟩
        have : ¬ a.pool = k := fun h' => h ⟨h', h' ▸ hk⟩
        simp [hu.1, this]
    have hlen := (same_takeOne D i false m a).pools
    obtain ⟨h1, h2⟩ := ih (takeOne D i false m a)
    unfold takeAll
    refine ⟨h1.trans hone.1, fun hk => ?_⟩
    rw [h2 (by rwa [hlen]), hone.2 hk]
    simp only [unitsOn]
    split <;> omega

/-- What a request needs: its slot, and its first units. -/
theorem needs_request (env : Env) (P : Params) (u : Expr) (r : Option Expr) :
    ∃ room, needs env [{ pool := { base := P.slots }, units := .Num 1 },
      { pool := { base := P.memory }, units := u, reserve := r }] =
      [(P.slots, 1, 1), (P.memory, u.eval env, room)] :=
  ⟨_, by simp [needs, Ref.eval, Expr.eval, evalOr]; rfl⟩

/-- Whoever waits is a session. -/
theorem lt_of_queued {m : Machine} {i : Nat} (h : (m.at_ i).status = .queued) : i < m.sess.size := by
  apply Nat.lt_of_not_le
  intro hle
  have : m.at_ i = default := by
    unfold Machine.at_ Arr.at!
    rw [Lst.nth_eq_getD, List.getD_eq_getElem?_getD, List.getElem?_eq_none (by simpa using hle)]
    rfl
  rw [this] at h
  exact absurd h (by decide)

/-- Taking one out of a list that has it once. -/
theorem mem_removeOne {i j : Nat} {l : List Nat} (hn : l.Nodup) :
    j ∈ removeOne i l ↔ j ∈ l ∧ j ≠ i := by
  induction l with
  | nil => simp [removeOne]
  | cons x l ih =>
    obtain ⟨hx, hl⟩ := List.nodup_cons.mp hn
    unfold removeOne
    split
    · next h =>
      subst h
      constructor
      · intro hj; exact ⟨List.mem_cons_of_mem _ hj, fun he => hx (he ▸ hj)⟩
      · rintro ⟨hj, hne⟩
        rcases List.mem_cons.mp hj with rfl | hj
        · exact absurd rfl hne
        · exact hj
    · next h =>
      simp only [List.mem_cons, ih hl]
      constructor
      · rintro (rfl | ⟨h1, h2⟩)
        · exact ⟨Or.inl rfl, h⟩
        · exact ⟨Or.inr h1, h2⟩
      · rintro ⟨rfl | h1, h2⟩
        · exact Or.inl rfl
        · exact Or.inr ⟨h1, h2⟩

/-- Taking one out leaves the others different. -/
theorem nodup_removeOne {i : Nat} {l : List Nat} (hn : l.Nodup) : (removeOne i l).Nodup := by
  induction l with
  | nil => exact hn
  | cons x l ih =>
    obtain ⟨hx, hl⟩ := List.nodup_cons.mp hn
    unfold removeOne
    split
    · exact hl
    · exact List.nodup_cons.mpr ⟨fun h => hx ((mem_removeOne hl).mp h).1, ih hl⟩

/-- A session that fits is admitted: it takes a slot and its first units. -/
theorem Inv.admit (hS : Setting D P) {m : Machine} (h : Inv D P m) {p i : Nat} (left : Nat)
    (hin : i ∈ (m.pool p).queue) (hfit : fits D m i left = true) : Inv D P (admit D m p i left) := by
  have hp : p = P.slots := by
    by_cases hp : p = P.slots
    · exact hp
    · rw [h.others p hp] at hin; simp at hin
  subst hp
  have hs := h.queued i hin
  have hi := lt_of_queued hs
  have f1 : ∀ j ∈ m.jobs, j.owner ≠ i := fun j hj he => by
    have := (h.jobs j hj).2.1
    rw [he, hs] at this
    exact absurd this (by simp)
  have f3 : ¬ m.clock.arrived ≤ i := fun hle => by
    have := h.born i hi hle
    rw [hs] at this
    exact absurd this (by simp)
  have hd0 : debt m i = 0 := by simp [debt, leftOf_absent f1]
  have hso := h.sess i
  rw [hd0] at hso
  unfold fits at hfit
  unfold Serq.admit
  split
  · next pools reuse body cache k hprog =>
    simp only [hprog] at hfit
    obtain ⟨hst, hok⟩ := outside_of_hold hso hprog
    obtain ⟨hcache, ⟨u, r, y, hpools, hbound, hy⟩, hgrow, hbody, hk⟩ := hok
    subst hcache hpools
    obtain ⟨room, hneeds⟩ := needs_request (m.sessEnv D i left) P u r
    rw [hneeds] at hfit
    have hroom : (m.pool P.slots).used + 1 ≤ (D.pool P.slots).cap := by
      unfold allFit at hfit
      split at hfit
      · next hle => simpa [roundUp, hS.block] using hle
      · exact absurd hfit (by simp)
    have hallocs : holdAllocs D m i left [{ pool := { base := P.slots }, units := .Num 1 },
        { pool := { base := P.memory }, units := u, reserve := r }] reuse none =
        [⟨P.slots, 1, 0⟩,
          ⟨P.memory, roundUp (D.pool P.memory).block (u.eval (m.sessEnv D i left)), 0⟩] := by
      unfold holdAllocs
      rw [hneeds]
      simp [newAllocs, consumed, roundUp, hS.block]
    simp only [hallocs, Option.isSome_none]
    have hu : roundUp (D.pool P.memory).block (u.eval (m.sessEnv D i left)) ≤ top D P :=
      roundUp_mono _ (Nat.le_trans (boundOf_le hso.attrs u y hbound) hy)
    generalize roundUp (D.pool P.memory).block (u.eval (m.sessEnv D i left)) = U at hu ⊢
    generalize hstmt : Block.Hold _ reuse body none k = stmt
    generalize hm1 : takeAll D i false [⟨P.slots, 1, 0⟩, ⟨P.memory, U, 0⟩]
      (leaveQueue m P.slots i) = m1
    have hq0 : ∀ p, ((leaveQueue m P.slots i).pool p).used = (m.pool p).used ∧
        (p ≠ P.slots → (leaveQueue m P.slots i).pool p = m.pool p) ∧
        ((leaveQueue m P.slots i).pool P.slots).queue = removeOne i (m.pool P.slots).queue := by
      intro p
      unfold leaveQueue
      refine ⟨?_, fun hne => ?_, ?_⟩
      · rw [pool_modPool]; split <;> rfl
      · rw [pool_modPool, if_neg (fun h' => hne h'.1.symm)]
      · rw [pool_modPool, if_pos ⟨rfl, by rw [h.lens]; exact hS.slots⟩]
    have hlen0 : (leaveQueue m P.slots i).pools.length = m.pools.length := by
      simp [leaveQueue, Machine.modPool]
    have htake := takeAll_pools D i [⟨P.slots, 1, 0⟩, ⟨P.memory, U, 0⟩] (leaveQueue m P.slots i)
    rw [hm1] at htake
    obtain ⟨un1, un2⟩ := units_request hS U 0
    have husedS : (m1.pool P.slots).used = (m.pool P.slots).used + 1 := by
      rw [(htake P.slots).2 (by rw [hlen0, h.lens]; exact hS.slots), (hq0 _).1, un1]
    have husedM : (m1.pool P.memory).used = (m.pool P.memory).used + U := by
      rw [(htake P.memory).2 (by rw [hlen0, h.lens]; exact hS.memory), (hq0 _).1, un2]
    have hqueueS : (m1.pool P.slots).queue = removeOne i (m.pool P.slots).queue := by
      rw [(htake P.slots).1, (hq0 P.slots).2.2]
    have hqueueO : ∀ p, p ≠ P.slots → (m1.pool p).queue = [] := by
      intro p hne
      rw [(htake p).1, (hq0 p).2.1 hne, h.others p hne]
    have hsame : Same m m1 := by
      rw [← hm1]
      exact (same_modPool m _ _).trans (same_takeAll D i false _ _)
    have hsess : m1.sess = m.sess := by
      rw [← hm1, (takeAll_sess D i false _ _).1]; rfl
    have hjobs : m1.jobs = m.jobs := by
      rw [← hm1, (takeAll_sess D i false _ _).2]; rfl
    have hi1 : i < m1.sess.size := by rwa [hsess]
    -- the machine with the session in its body, whatever is ready
    have key : Inv D P (m1.modSess i fun s =>
        { s with
          attrs := Arr.put s.attrs D.slotCached (maxPos [⟨P.slots, 1, 0⟩, ⟨P.memory, U, 0⟩])
          prog := body
          stack := .hold ⟨[⟨P.slots, 1, 0⟩, ⟨P.memory, U, 0⟩], false, none, stmt⟩ k :: s.stack
          status := .ready
          adm := m1.nextAdm
          front := false }) := by
      generalize hF : (fun s : Sess =>
        { s with
          attrs := Arr.put s.attrs D.slotCached (maxPos [⟨P.slots, 1, 0⟩, ⟨P.memory, U, 0⟩])
          prog := body
          stack := .hold ⟨[⟨P.slots, 1, 0⟩, ⟨P.memory, U, 0⟩], false, none, stmt⟩ k :: s.stack
          status := .ready
          adm := m1.nextAdm
          front := false }) = F
      have hat : ∀ j, j ≠ i → (m1.modSess i F).at_ j = m.at_ j := by
        intro j hne
        rw [at_mod_other hne.symm, at_eq hsess]
      have hati : (m1.modSess i F).at_ i = F (m.at_ i) := by
        rw [at_mod_self hi1, at_eq hsess]
      have hheld : ∀ p, heldTotal p (m1.modSess i F) =
          heldTotal p m + unitsOn p [⟨P.slots, 1, 0⟩, ⟨P.memory, U, 0⟩] := by
        intro p
        rw [heldTotal_mod p hi1, heldOthers_eq hsess, at_eq hsess, heldTotal_split p i m, hst, ← hF]
        simp [heldOn, hst]
      refine ⟨?_, ?_, by show DistinctOwners m1.jobs; rw [hjobs]; exact h.owners, ?_,
        by show DistinctEntries m1.plan.batch; rw [hsame.plan]; exact h.entries,
        by show (m1.pool P.slots).queue.Nodup; rw [hqueueS]; exact nodup_removeOne h.nodup, ?_,
        fun p hne => hqueueO p hne, ?_, by show m1.pools.length = _; rw [hsame.pools]; exact h.lens,
        ?_, ?_, ?_, by show m1.plan.preempts = 0; rw [hsame.plan]; exact h.calm,
        by show m1.plan.victims = []; rw [hsame.plan]; exact h.kept,
        by show m1.clock.last.preempts = 0; rw [hsame.clock]; exact h.last⟩
      · intro j
        have hdj : debt (m1.modSess i F) j = debt m j := by
          show leftOf j m1.jobs - tokensOf j m1.plan.batch = _
          rw [hjobs, hsame.plan]; rfl
        rw [hdj]
        by_cases hj : j = i
        · subst hj
          rw [hati, hd0, ← hF]
          refine ⟨hso.turns, ?_, Or.inr ⟨⟨[⟨P.slots, 1, 0⟩, ⟨P.memory, U, 0⟩], false, none, stmt⟩, k, U, 0,
            by simp [hst], hbody, hk, rfl, rfl, hu, ?_⟩⟩
          · intro s x hx
            simp only
            rw [Arr.at_put]
            split
            · simp [maxPos]
            · exact hso.attrs s x hx
          · simp only; omega
        · rw [hat j hj]; exact h.sess j
      · intro j hj
        have hj' : j ∈ m.jobs := by rw [← hjobs]; exact hj
        obtain ⟨h1, h2, h3⟩ := h.jobs j hj'
        refine ⟨?_, ?_, h3⟩
        · simpa [Machine.modSess, hsess] using h1
        · rw [hat _ (f1 j hj')]; exact h2
      · intro e he
        obtain ⟨j, hj, h'⟩ := h.batch e (by rw [← hsame.plan]; exact he)
        exact ⟨j, by show j ∈ m1.jobs; rwa [hjobs], h'⟩
      · intro j hj
        have hj' : j ∈ (m1.pool P.slots).queue := hj
        rw [hqueueS] at hj'
        obtain ⟨g1, g2⟩ := (mem_removeOne h.nodup).mp hj'
        rw [hat j g2]
        exact h.queued j g1
      · intro j hj hle
        have hle' : m.clock.arrived ≤ j := by rw [← hsame.clock]; exact hle
        have hne : j ≠ i := fun he => f3 (he ▸ hle')
        rw [hat j hne]
        exact h.born j (by simpa [Machine.modSess, hsess] using hj) hle'
      · show (m1.pool P.memory).used ≤ _
        rw [hheld, husedM, un2]
        have := h.used
        omega
      · show _ ≤ (m1.pool P.slots).used
        rw [hheld, husedS, un1]
        have := h.taken
        omega
      · show (m1.pool P.slots).used ≤ _
        rw [husedS]
        exact hroom
    exact key.of_eq rfl rfl rfl rfl rfl
  · exact h

/-- Who is next in a queue without keys waits there. -/
theorem selected_mem (hS : Setting D P) {m : Machine} (h : Inv D P m) {p i left : Nat}
    (hs : selected D m p left = some i) : i ∈ (m.pool p).queue := by
  by_cases hp : p = P.slots
  · subst hp
    unfold selected at hs
    split at hs
    · exact absurd hs (by simp)
    · next j js hq =>
      rw [hS.order] at hs
      rw [hq]
      simp at hs
      simp [hs]
  · unfold selected at hs
    rw [h.others p hp] at hs
    exact absurd hs (by simp)

/-- Admitting at one pool. -/
theorem Inv.admitHeads (hS : Setting D P) {m : Machine} (h : Inv D P m) (p fuel : Nat) :
    Inv D P (admitHeads D p fuel m) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl rfl rfl rfl
  | succ fuel ih =>
    unfold Serq.admitHeads
    split
    · exact h
    · next i hsel =>
      split
      · next hf => exact ih (h.admit hS 0 (selected_mem hS h hsel) hf)
      · exact h

/-- Admitting at some pools. -/
theorem Inv.admitPools (hS : Setting D P) {m : Machine} (h : Inv D P m) (Ps : List Pool) (p : Nat) :
    Inv D P (admitPools D Ps p m) := by
  induction Ps generalizing m p with
  | nil => exact h
  | cons x Ps ih =>
    unfold Serq.admitPools
    split
    · exact ih h _
    · exact ih (h.admitHeads hS p _) _

/-- Admitting at every pool that no engine serves. -/
theorem Inv.admitAll (hS : Setting D P) {m : Machine} (h : Inv D P m) : Inv D P (admitAll D m) :=
  h.admitPools hS D.pools 0

/-- A value within its bound keeps the attributes within theirs. -/
theorem bounded_put {b : Nat → Option Nat} {a : Array Nat} (h : Bounded b a) {slot v : Nat}
    (hv : ∀ x, b slot = some x → v ≤ x) : Bounded b (Arr.put a slot v) := by
  intro s x hx
  rw [Arr.at_put]
  split
  · next he => subst he; exact hv x hx
  · exact h s x hx

/-- What a session has left changes only for the owner of a new job. -/
theorem leftOf_insertJob (i : Nat) (j : Job) (js : List Job) :
    leftOf i (insertJob j js) = leftOf i js + if j.owner = i then j.left else 0 := by
  induction js with
  | nil => simp [insertJob, leftOf]
  | cons x js ih =>
    unfold insertJob
    split
    · simp only [leftOf, ih]; split <;> omega
    · simp only [leftOf]; split <;> split <;> omega

/-- A ready session that is about to run, in the state after its run: it has a job, or is in service. -/
theorem Inv.startRun (hS : Setting D P) {m : Machine} (h : Inv D P m) {i : Nat}
    (hs : (m.at_ i).status = .ready) (s : Nat) (mode : Mode) (w : Nat) (g : Option Nat)
    (hg : g = none ∨ g = some P.memory)
    (hso : SessOk D P 0 (m.at_ i)) (hrun : D.stage s = .Step → SessOk D P w (m.at_ i)) :
    Inv D P (startRun D m i s mode w g) := by
  have hi := lt_of_ready hs
  have hserve : Inv D P (serveFor m i s w) :=
    (h.step hs (fun x => { x with status := .serving m.nextEvent })
      ⟨hso.turns, hso.attrs, hso.place⟩ rfl).of_eq rfl rfl rfl rfl rfl
  unfold Serq.startRun
  split
  · exact hserve
  · next c hc => exact absurd hc (hS.fifo s c)
  · next hstep =>
    simp only
    obtain ⟨f1, f2, f3⟩ := h.free (i := i) (by rw [hs]; simp) (by rw [hs]; simp) (by rw [hs]; simp) hi
    have h1 := h.step hs (fun x => { x with status := .engine })
      ⟨hso.turns, hso.attrs, hso.place⟩ rfl
    have hati := at_mod_self hi (fun x : Sess => { x with status := .engine })
    have hb0 : tokensOf i m.plan.batch = 0 := tokensOf_absent fun e he heo => by
      obtain ⟨j, hj, hjo, _⟩ := h.batch e he
      exact f1 j hj (hjo.trans heo)
    refine ⟨?_, ?_, ?_, ?_, h1.entries, h1.nodup, h1.queued, h1.others, h1.born, h1.lens,
      h1.used, h1.taken, h1.cap, h1.calm, h1.kept, h1.last⟩
    · intro k
      by_cases hk : k = i
      · subst hk
        have hd : debt ({ m.modSess k fun x => { x with status := .engine } with
            jobs := insertJob ⟨k, (m.at_ k).adm, mode, w, g⟩ m.jobs }) k = w := by
          show leftOf k (insertJob _ m.jobs) - tokensOf k m.plan.batch = w
          rw [leftOf_insertJob, hb0, leftOf_absent f1]
          simp
        rw [hd]
        show SessOk D P w ((m.modSess k fun x => { x with status := .engine }).at_ k)
        rw [hati]
        have := hrun hstep
        exact ⟨this.turns, this.attrs, this.place⟩
      · have hd : debt ({ m.modSess i fun x => { x with status := .engine } with
            jobs := insertJob ⟨i, (m.at_ i).adm, mode, w, g⟩ m.jobs }) k =
            debt (m.modSess i fun x => { x with status := .engine }) k := by
          show leftOf k (insertJob _ m.jobs) - tokensOf k m.plan.batch = _
          rw [leftOf_insertJob, if_neg (fun h' => hk h'.symm)]
          rfl
        rw [hd]
        exact h1.sess k
    · intro j hj
      rcases (mem_insertJob _ _ _).mp hj with rfl | hj
      · refine ⟨by simpa [Machine.modSess] using hi, ?_, hg⟩
        show ((m.modSess i fun x => { x with status := .engine }).at_ i).status = _
        rw [hati]
      · exact h1.jobs j hj
    · exact distinct_insertJob h.owners f1
    · intro e he
      obtain ⟨j, hj, h'⟩ := h1.batch e he
      exact ⟨j, (mem_insertJob _ _ _).mpr (Or.inr hj), h'⟩

/-- Running the commands of a session. -/
theorem Inv.exec (hS : Setting D P) {m : Machine} (h : Inv D P m) (fuel i : Nat) :
    Inv D P (exec D fuel m i) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl rfl rfl rfl
  | succ fuel ih =>
    unfold Serq.exec
    simp only
    split
    · next hs =>
      have hso := h.readySess hs
      have hcont : ∀ (f : Sess → Sess), SessOk D P 0 (f (m.at_ i)) →
          (f (m.at_ i)).stack = (m.at_ i).stack → Inv D P (m.modSess i f) :=
        fun f hf hst => h.step hs f hf hst
      cases hp : (m.at_ i).prog with
      | Done =>
        simp only
        rcases hso.place with ⟨hst, _⟩ | ⟨r, k, u, x, hst, _, hk, hc, ha, _, _⟩
        · simp only [hst]
          exact hcont _ ⟨hso.turns, hso.attrs, Or.inl ⟨hst, by simp only [hp]; trivial⟩⟩ rfl
        · simp only [hst]
          refine ih ?_
          unfold finishHold
          simp only
          refine Inv.of_eq (Inv.admitAll hS ?_) rfl rfl rfl rfl rfl
          exact h.leave hS hs r.grown hst hc ha _
            ⟨hso.turns, bounded_put hso.attrs (fun _ _ => Nat.zero_le _), Or.inl ⟨rfl, hk⟩⟩
            (fun _ => rfl)
      | End => exact h.endSession hS hs
      | Turn k =>
        refine ih (hcont _ ?_ ?_)
        · unfold nextTurn
          simp only [hso.turns]
          refine ⟨rfl, bounded_put hso.attrs (fun x hx => by rw [hS.turn] at hx; simp at hx), ?_⟩
          rcases hso.place with ⟨hst, hok⟩ | ⟨r, k', u, x, hst, hok, hk, hc, ha, hu, hx⟩
          · rw [hp] at hok; exact Or.inl ⟨hst, hok⟩
          · rw [hp] at hok hx; exact Or.inr ⟨r, k', u, x, hst, hok, hk, hc, ha, hu, hx⟩
        · unfold nextTurn
          simp only [hso.turns]
      | Set slot e k =>
        refine ih (hcont _ ?_ rfl)
        have hval : ∀ b : Bool, Ok D P b (.Set slot e k) →
            (∀ x, P.bound slot = some x → e.eval (m.sessEnv D i 0) ≤ x) ∧ Ok D P b k := by
          intro b hok
          have hok' : (∀ x, P.bound slot = some x → ∃ y, boundOf P.bound e = some y ∧ y ≤ x) ∧
              Ok D P b k := by cases b <;> exact hok
          obtain ⟨h1, h2⟩ := hok'
          refine ⟨fun x hx => ?_, h2⟩
          obtain ⟨y, hy, hle⟩ := h1 x hx
          exact Nat.le_trans (boundOf_le (env := m.sessEnv D i 0) hso.attrs e y hy) hle
        rcases hso.place with ⟨hst, hok⟩ | ⟨r, k', u, x, hst, hok, hk, hc, ha, hu, hx⟩
        · rw [hp] at hok
          obtain ⟨g1, g2⟩ := hval _ hok
          exact ⟨hso.turns, bounded_put hso.attrs g1, Or.inl ⟨hst, g2⟩⟩
        · rw [hp] at hok hx
          obtain ⟨g1, g2⟩ := hval _ hok
          exact ⟨hso.turns, bounded_put hso.attrs g1,
            Or.inr ⟨r, k', u, x, hst, g2, hk, hc, ha, hu, hx⟩⟩
      | Observe o e k =>
        simp only
        have h1 := hcont (fun s => { s with prog := k }) (by
          rcases hso.place with ⟨hst, hok⟩ | ⟨r, k', u, x, hst, hok, hk, hc, ha, hu, hx⟩
          · rw [hp] at hok; exact ⟨hso.turns, hso.attrs, Or.inl ⟨hst, hok⟩⟩
          · rw [hp] at hok hx
            exact ⟨hso.turns, hso.attrs, Or.inr ⟨r, k', u, x, hst, hok, hk, hc, ha, hu, hx⟩⟩) rfl
        exact ih (m := { m.modSess i fun s => { s with prog := k } with obs := _ })
          (h1.of_eq rfl rfl rfl rfl rfl)
      | Hold pools reuse body cache k => exact h.enqueue hS hs
      | Run stage mode work growing k =>
        simp only
        have hw : ∀ y, boundOf P.bound work = some y → work.eval (m.sessEnv D i 0) ≤ y :=
          fun y hy => boundOf_le (env := m.sessEnv D i 0) hso.attrs work y hy
        -- the session behind its run: what it owes if it is at the engine
        have hafter : SessOk D P 0 { m.at_ i with prog := k } ∧
            (evalRef (m.sessEnv D i 0) growing = none ∨
              evalRef (m.sessEnv D i 0) growing = some P.memory) ∧
            (D.stage (stage.eval (m.sessEnv D i 0)) = .Step →
              SessOk D P (work.eval (m.sessEnv D i 0)) { m.at_ i with prog := k }) := by
          rcases hso.place with ⟨hst, hok⟩ | ⟨r, k', u, x, hst, hok, hk, hc, ha, hu, hx⟩
          · rw [hp] at hok
            obtain ⟨rfl, hok⟩ : growing = none ∧ Ok D P false k := hok
            exact ⟨⟨hso.turns, hso.attrs, Or.inl ⟨hst, hok⟩⟩, Or.inl rfl,
              fun _ => ⟨hso.turns, hso.attrs, Or.inl ⟨hst, hok⟩⟩⟩
          · rw [hp] at hok hx
            obtain ⟨hcase, hok⟩ : _ ∧ Ok D P true k := hok
            rcases hcase with ⟨rfl, y, hy⟩ | ⟨rfl, s, rfl, hdelay⟩
            · have := hw y hy
              simp only [growth, hy, Option.getD_some] at hx
              exact ⟨⟨hso.turns, hso.attrs,
                  Or.inr ⟨r, k', u, x, hst, hok, hk, hc, ha, hu, by simp only; omega⟩⟩,
                Or.inr (by simp [evalRef, Ref.eval, Expr.eval]),
                fun _ => ⟨hso.turns, hso.attrs,
                  Or.inr ⟨r, k', u, x, hst, hok, hk, hc, ha, hu, by simp only; omega⟩⟩⟩
            · simp only [growth] at hx
              refine ⟨⟨hso.turns, hso.attrs,
                Or.inr ⟨r, k', u, x, hst, hok, hk, hc, ha, hu, hx⟩⟩, Or.inl rfl, fun hstep => ?_⟩
              simp only [Ref.eval, Expr.eval, Nat.add_zero] at hstep
              rw [hdelay] at hstep
              exact absurd hstep (by simp)
        obtain ⟨g1, g2, g3⟩ := hafter
        have h1 := hcont (fun s => { s with prog := k }) g1 rfl
        have hat := at_mod_self (lt_of_ready hs) (fun s : Sess => { s with prog := k })
        split
        · exact h1.of_eq rfl rfl rfl rfl rfl
        · refine h1.startRun hS (by rw [hat]; exact hs) _ mode _ _ g2 (by rw [hat]; exact g1)
            (fun hst => by rw [hat]; exact g3 hst)
      | Drop r k =>
        rcases hso.place with ⟨_, hok⟩ | ⟨_, _, _, _, _, hok, _⟩ <;> rw [hp] at hok <;>
          exact absurd hok (by simp [Ok])
      | Release r k =>
        rcases hso.place with ⟨_, hok⟩ | ⟨_, _, _, _, _, hok, _⟩ <;> rw [hp] at hok <;>
          exact absurd hok (by simp [Ok])
      | Branch g a b k =>
        rcases hso.place with ⟨_, hok⟩ | ⟨_, _, _, _, _, hok, _⟩ <;> rw [hp] at hok <;>
          exact absurd hok (by simp [Ok])
      | Loop body =>
        rcases hso.place with ⟨_, hok⟩ | ⟨_, _, _, _, _, hok, _⟩ <;> rw [hp] at hok <;>
          exact absurd hok (by simp [Ok])
      | While g body k =>
        rcases hso.place with ⟨_, hok⟩ | ⟨_, _, _, _, _, hok, _⟩ <;> rw [hp] at hok <;>
          exact absurd hok (by simp [Ok])
      | Choose v n ks k =>
        rcases hso.place with ⟨_, hok⟩ | ⟨_, _, _, _, _, hok, _⟩ <;> rw [hp] at hok <;>
          exact absurd hok (by simp [Ok])
    · exact h

/-- Running all ready sessions. -/
theorem Inv.drain (hS : Setting D P) {m : Machine} (h : Inv D P m) (fuel : Nat) :
    Inv D P (drain D fuel m) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl rfl rfl rfl
  | succ fuel ih =>
    unfold Serq.drain
    split
    · exact h
    · next i is _ =>
      exact ih (Inv.exec hS (m := { m with ready := is }) (h.of_eq rfl rfl rfl rfl rfl) _ i)

/-- Settling. -/
theorem Inv.settle (hS : Setting D P) {m : Machine} (h : Inv D P m) (fuel : Nat) :
    Inv D P (settle D fuel m) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl rfl rfl rfl
  | succ fuel ih =>
    unfold Serq.settle
    simp only
    split
    · exact (h.drain hS instantFuel).admitAll hS
    · exact ih ((h.drain hS instantFuel).admitAll hS)

end Serq.Peak
