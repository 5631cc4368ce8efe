import Serq.Thm.Peak
/-!
# Where every slot's peak fits: what sessions do within an instant
-/

namespace Serq.Peak

open TwoRuns

variable {D : Deployment} {P : Params}

/-! ## Pools -/

/-- An allocation that keeps nothing cached is given back. -/
theorem giveOne_none (D : Deployment) (i : Nat) (g : Bool) (m : Machine) (a : Alloc) (k : Nat) :
    ((giveOne D i g none m a).pool k).queue = (m.pool k).queue ∧
    ((giveOne D i g none m a).pool k).used =
      if a.pool = k ∧ a.pool < m.pools.length then (m.pool k).used - a.units else (m.pool k).used := by
  simp only [giveOne, keepUnits, if_true]
  rw [pool_modPool]
  split <;> exact ⟨rfl, rfl⟩

/-- A request's hold is given back: its slot and its memory. -/
theorem release_pools (hS : Setting D P) {m : Machine} (hl : m.pools.length = D.pools.length)
    (i : Nat) {r : HoldRec} (g : Bool) {u x : Nat} (hc : r.cache = none)
    (ha : r.allocs = [⟨P.slots, 1, 0⟩, ⟨P.memory, u, x⟩]) :
    (∀ k, ((releaseHold D i r g m).pool k).queue = (m.pool k).queue) ∧
    ((releaseHold D i r g m).pool P.slots).used = (m.pool P.slots).used - 1 ∧
    ((releaseHold D i r g m).pool P.memory).used = (m.pool P.memory).used - u := by
  have h1 := hS.slots
  have h2 := hS.memory
  have hne := hS.ne
  unfold releaseHold
  simp only [hc, ha, cacheValue, giveAll]
  generalize hm0 : (m.modSess i fun s => { s with snap := s.attrs }) = m0
  have hp0 : ∀ k, m0.pool k = m.pool k := fun k => by rw [← hm0]; rfl
  have hl0 : m0.pools.length = m.pools.length := by rw [← hm0]; rfl
  have hl1 : (giveOne D i g none m0 ⟨P.slots, 1, 0⟩).pools.length = m.pools.length := by
    rw [(same_giveOne D i g none m0 _).pools, hl0]
  refine ⟨fun k => ?_, ?_, ?_⟩
  · rw [(giveOne_none D i g _ _ k).1, (giveOne_none D i g _ _ k).1, hp0]
  · rw [(giveOne_none D i g _ _ P.slots).2, (giveOne_none D i g _ _ P.slots).2, hp0, hl0, hl]
    simp [hne.symm, h1]
  · rw [(giveOne_none D i g _ _ P.memory).2, (giveOne_none D i g _ _ P.memory).2, hp0, hl1, hl]
    simp [hne, h2]

/-- What a request's allocations hold. -/
theorem units_request (hS : Setting D P) (u x : Nat) :
    unitsOn P.slots [⟨P.slots, 1, 0⟩, ⟨P.memory, u, x⟩] = 1 ∧
    unitsOn P.memory [⟨P.slots, 1, 0⟩, ⟨P.memory, u, x⟩] = u := by
  have hne := hS.ne
  simp [unitsOn, hne, hne.symm]

/-- Releasing a hold changes one session's snapshot only. -/
theorem release_sess (D : Deployment) (i : Nat) (r : HoldRec) (g : Bool) (m : Machine) :
    (releaseHold D i r g m).sess = (m.modSess i fun s => { s with snap := s.attrs }).sess ∧
    (releaseHold D i r g m).jobs = m.jobs :=
  ⟨(giveAll_sess D i g _ r.allocs _).1, (giveAll_sess D i g _ r.allocs _).2⟩

/-- A ready session leaves its hold. -/
theorem Inv.leave (hS : Setting D P) {m : Machine} (h : Inv D P m) {i : Nat}
    (hs : (m.at_ i).status = .ready) {r : HoldRec} {k : Block} (g : Bool) {u x : Nat}
    (hst : (m.at_ i).stack = [.hold r k]) (hc : r.cache = none)
    (ha : r.allocs = [⟨P.slots, 1, 0⟩, ⟨P.memory, u, x⟩]) (f : Sess → Sess)
    (hf : SessOk D P 0 (f { m.at_ i with snap := (m.at_ i).attrs }))
    (hstack : ∀ s, (f s).stack = []) : Inv D P ((releaseHold D i r g m).modSess i f) := by
  have hi := lt_of_ready hs
  obtain ⟨f1, f2, f3⟩ := h.free (i := i) (by rw [hs]; simp) (by rw [hs]; simp) (by rw [hs]; simp) hi
  obtain ⟨hq, hus, hum⟩ := release_pools hS h.lens i g hc ha
  obtain ⟨hse, hjo⟩ := release_sess D i r g m
  have hsame := same_releaseHold D i r g m
  obtain ⟨un1, un2⟩ := units_request hS u x
  generalize hR : releaseHold D i r g m = R at *
  have hsz : R.sess.size = m.sess.size := by rw [hse]; simp [Machine.modSess]
  have hiR : i < R.sess.size := by rwa [hsz]
  have hat : ∀ j, j ≠ i → (R.modSess i f).at_ j = m.at_ j := by
    intro j hne
    rw [at_mod_other hne.symm, at_eq hse, at_mod_other hne.symm]
  have hati : (R.modSess i f).at_ i = f { m.at_ i with snap := (m.at_ i).attrs } := by
    rw [at_mod_self hiR, at_eq hse, at_mod_self hi]
  have hdebt : ∀ j, debt (R.modSess i f) j = debt m j := by
    intro j
    show leftOf j R.jobs - tokensOf j R.plan.batch = _
    rw [hjo, hsame.plan]
    rfl
  have hd0 : debt m i = 0 := by simp [debt, leftOf_absent f1]
  have hheld : ∀ p, heldTotal p (R.modSess i f) = heldOthers p i m := by
    intro p
    rw [heldTotal_mod p hiR, hstack, heldOthers_eq hse, heldOthers_modSess]
    rfl
  have hbefore : ∀ p, heldTotal p m = heldOthers p i m + unitsOn p r.allocs := by
    intro p
    rw [heldTotal_split p i, hst]
    simp [heldOn]
  refine ⟨?_, ?_, by show DistinctOwners R.jobs; rw [hjo]; exact h.owners, ?_,
    by show DistinctEntries R.plan.batch; rw [hsame.plan]; exact h.entries,
    by show (R.pool P.slots).queue.Nodup; rw [hq]; exact h.nodup, ?_,
    fun p hne => by show (R.pool p).queue = []; rw [hq]; exact h.others p hne, ?_,
    by show R.pools.length = _; rw [hsame.pools]; exact h.lens, ?_, ?_, ?_,
    by show R.plan.preempts = 0; rw [hsame.plan]; exact h.calm,
    by show R.plan.victims = []; rw [hsame.plan]; exact h.kept,
    by show R.clock.last.preempts = 0; rw [hsame.clock]; exact h.last⟩
  · intro j
    rw [hdebt]
    by_cases hj : j = i
    · subst hj; rw [hati, hd0]; exact hf
    · rw [hat j hj]; exact h.sess j
  · intro j hj
    have hj' : j ∈ m.jobs := by rw [← hjo]; exact hj
    obtain ⟨h1, h2, h3⟩ := h.jobs j hj'
    refine ⟨?_, ?_, h3⟩
    · show j.owner < (R.modSess i f).sess.size
      simpa [Machine.modSess, hsz] using h1
    · rw [hat _ (f1 j hj')]; exact h2
  · intro e he
    have he' : e ∈ m.plan.batch := by rw [← hsame.plan]; exact he
    obtain ⟨j, hj, h'⟩ := h.batch e he'
    exact ⟨j, by show j ∈ R.jobs; rwa [hjo], h'⟩
  · intro j hj
    have hj' : j ∈ (m.pool P.slots).queue := by rw [← hq]; exact hj
    have hne : j ≠ i := fun he => f2 (he ▸ hj')
    rw [hat j hne]
    exact h.queued j hj'
  · intro j hj hle
    have hle' : m.clock.arrived ≤ j := by rw [← hsame.clock]; exact hle
    have hne : j ≠ i := fun he => f3 (he ▸ hle')
    rw [hat j hne]
    exact h.born j (by simpa [Machine.modSess, hsz] using hj) hle'
  · show (R.pool P.memory).used ≤ _
    have := h.used
    rw [hheld, hum]
    rw [hbefore, ha, un2] at this
    omega
  · show _ ≤ (R.pool P.slots).used
    have := h.taken
    rw [hheld, hus]
    rw [hbefore, ha, un1] at this
    omega
  · show (R.pool P.slots).used ≤ _
    have := h.cap
    rw [hus]
    omega

/-- The session ends. -/
theorem Inv.endSession (hS : Setting D P) {m : Machine} (h : Inv D P m) {i : Nat}
    (hs : (m.at_ i).status = .ready) : Inv D P (endSession D m i) := by
  have hso := h.readySess hs
  unfold Serq.endSession
  rcases hso.place with ⟨hst, _⟩ | ⟨r, k, u, x, hst, _, _, hc, ha, _, _⟩
  · rw [hst]
    exact h.step hs _ ⟨hso.turns, hso.attrs, Or.inl ⟨rfl, trivial⟩⟩ hst.symm
  · rw [hst]
    exact h.leave hS hs r.grown hst hc ha _
      ⟨hso.turns, hso.attrs, Or.inl ⟨rfl, trivial⟩⟩ (fun _ => rfl)

/-- A hold is joined only outside a hold. -/
theorem outside_of_hold {debt : Nat} {s : Sess} (h : SessOk D P debt s) {pools : List HoldPool}
    {reuse : Option Expr} {body : Block} {cache : Option Expr} {k : Block}
    (hp : s.prog = .Hold pools reuse body cache k) :
    s.stack = [] ∧ Ok D P false (.Hold pools reuse body cache k) := by
  rcases h.place with ⟨hst, hok⟩ | ⟨r, k', u, x, _, hok, _⟩
  · exact ⟨hst, hp ▸ hok⟩
  · rw [hp] at hok
    exact absurd hok (by simp [Ok])

/-- A session joins a queue, or is refused. -/
theorem Inv.enqueue (hS : Setting D P) {m : Machine} (h : Inv D P m) {i : Nat}
    (hs : (m.at_ i).status = .ready) : Inv D P (enqueue D m i false) := by
  have hso := h.readySess hs
  have hi := lt_of_ready hs
  unfold Serq.enqueue
  split
  · next pools reuse body cache k hp =>
    obtain ⟨hst, hok⟩ := outside_of_hold hso hp
    simp only
    split
    · have h1 : Inv D P { m with rejected := m.rejected + 1 } := h.of_eq rfl rfl rfl rfl rfl
      exact (h1.endSession hS (i := i) hs).of_eq rfl rfl rfl rfl rfl
    · obtain ⟨_, ⟨u, r, y, hpools, _, _⟩, _⟩ := hok
      have hfirst : firstPool (m.sessEnv D i 0) pools = P.slots := by
        rw [hpools]
        simp [firstPool, Ref.eval, Expr.eval]
      rw [hfirst]
      obtain ⟨f1, f2, f3⟩ := h.free (i := i) (by rw [hs]; simp) (by rw [hs]; simp) (by rw [hs]; simp)
        hi
      generalize hm1 : (m.modPool P.slots fun st =>
        { st with queue := if false = true then i :: st.queue else st.queue ++ [i] }) = m1
      have hpool : ∀ p, m1.pool p = if P.slots = p ∧ P.slots < m.pools.length then
          { m.pool p with queue := (m.pool p).queue ++ [i] } else m.pool p := by
        intro p
        rw [← hm1, pool_modPool]
        simp
      have hslots : m1.pool P.slots =
          { m.pool P.slots with queue := (m.pool P.slots).queue ++ [i] } := by
        rw [hpool, if_pos ⟨rfl, by rw [h.lens]; exact hS.slots⟩]
      have hother : ∀ p, p ≠ P.slots → m1.pool p = m.pool p := by
        intro p hne
        rw [hpool, if_neg (fun h' => hne h'.1.symm)]
      have hsess : m1.sess = m.sess := by rw [← hm1]; rfl
      have hi1 : i < m1.sess.size := by rwa [hsess]
      generalize hF : (fun s : Sess => { s with status := .queued, joined := m.now, front := false })
        = F
      have hFs : ∀ s, (F s).stack = s.stack := fun s => by rw [← hF]
      have hFq : ∀ s, (F s).status = .queued := fun s => by rw [← hF]
      have hat : ∀ j, j ≠ i → (m1.modSess i F).at_ j = m.at_ j := by
        intro j hne
        rw [at_mod_other hne.symm, at_eq hsess]
      have hati : (m1.modSess i F).at_ i = F (m.at_ i) := by
        rw [at_mod_self hi1, at_eq hsess]
      have hjobs : m1.jobs = m.jobs := by rw [← hm1]; rfl
      have hplan : m1.plan = m.plan := by rw [← hm1]; rfl
      have hclock : m1.clock = m.clock := by rw [← hm1]; rfl
      have hlens : m1.pools.length = m.pools.length := by rw [← hm1]; simp [Machine.modPool]
      have hheld : ∀ p, heldTotal p (m1.modSess i F) = heldTotal p m := by
        intro p
        rw [heldTotal_same p i m1 F (hFs _), heldTotal_eq hsess]
      refine ⟨?_, ?_, by show DistinctOwners m1.jobs; rw [hjobs]; exact h.owners, ?_,
        by show DistinctEntries m1.plan.batch; rw [hplan]; exact h.entries,
        ?_, ?_, ?_, ?_, by show m1.pools.length = _; rw [hlens]; exact h.lens, ?_, ?_, ?_,
        by show m1.plan.preempts = 0; rw [hplan]; exact h.calm,
        by show m1.plan.victims = []; rw [hplan]; exact h.kept,
        by show m1.clock.last.preempts = 0; rw [hclock]; exact h.last⟩
      · intro j
        have hdj : debt (m1.modSess i F) j = debt m j := by
          show leftOf j m1.jobs - tokensOf j m1.plan.batch = _
          rw [hjobs, hplan]; rfl
        rw [hdj]
        by_cases hj : j = i
        · subst hj
          rw [hati]
          have := h.sess j
          rw [← hF]
          exact ⟨this.turns, this.attrs, this.place⟩
        · rw [hat j hj]; exact h.sess j
      · intro j hj
        have hj' : j ∈ m.jobs := by rw [← hjobs]; exact hj
        obtain ⟨h1, h2, h3⟩ := h.jobs j hj'
        refine ⟨?_, ?_, h3⟩
        · simpa [Machine.modSess, hsess] using h1
        · rw [hat _ (f1 j hj')]; exact h2
      · intro e he
        obtain ⟨j, hj, h'⟩ := h.batch e (by rw [← hplan]; exact he)
        exact ⟨j, by show j ∈ m1.jobs; rwa [hjobs], h'⟩
      · show (m1.pool P.slots).queue.Nodup
        rw [hslots]
        simp only
        rw [List.nodup_append]
        refine ⟨h.nodup, by simp, ?_⟩
        intro a ha b hb
        rw [List.mem_singleton.mp hb]
        exact fun h' => f2 (h' ▸ ha)
      · intro j hj
        have hj' : j ∈ (m1.pool P.slots).queue := hj
        rw [hslots] at hj'
        by_cases hji : j = i
        · subst hji; rw [hati]; exact hFq _
        · rw [hat j hji]
          rcases List.mem_append.mp hj' with hj' | hj'
          · exact h.queued j hj'
          · exact absurd (List.mem_singleton.mp hj') hji
      · intro p hne
        show (m1.pool p).queue = []
        rw [hother p hne]
        exact h.others p hne
      · intro j hj hle
        have hle' : m.clock.arrived ≤ j := by rw [← hclock]; exact hle
        have hne : j ≠ i := fun he => f3 (he ▸ hle')
        rw [hat j hne]
        exact h.born j (by simpa [Machine.modSess, hsess] using hj) hle'
      · show (m1.pool P.memory).used ≤ _
        rw [hheld, hother _ hS.ne.symm]
        exact h.used
      · show _ ≤ (m1.pool P.slots).used
        rw [hheld, hslots]
        exact h.taken
      · show (m1.pool P.slots).used ≤ _
        rw [hslots]
        exact h.cap
  · exact h

end Serq.Peak
