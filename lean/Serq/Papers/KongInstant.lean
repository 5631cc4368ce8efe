import Serq.Papers.KongMoves
/-!
# Smallest Volume First: an instant

The commands of a ready session, of all ready sessions, and an instant until it has settled: the state stays
what it is, and the sums move as `Moves` says. A session whose run has ended is in no list while others are
admitted in its place; what it still owes is the time now, which it notes as its response.
-/

namespace Serq.Papers.KongSvf

open KongMath

variable {q : Requests} {m m' : Machine} {i : Nat}

/-! ## Commands -/

/-- A run begins. -/
theorem Struct.exec_body {is : List Nat} (h : Struct q 0 m) (hr : m.ready = i :: is)
    (hp : (m.at_ i).prog = body) (fuel : Nat) :
    Struct q 0 (exec deployment (fuel + 1) { m with ready := is } i) ∧
      Moves q m (exec deployment (fuel + 1) { m with ready := is } i) := by
  have hi := h.ready i (by simp [hr])
  have hnd := h.readyOnce
  rw [hr] at hnd
  have hir : i ∉ is := (List.nodup_cons.mp hnd).1
  have ho := (h.small i hi.lt).2
  obtain ⟨a, heq⟩ := KongSvf.exec_body (m := { m with ready := is }) fuel
    (hi.keep (m' := { m with ready := is }) rfl rfl) hp ho
  rw [heq]
  simp only
  generalize hM : ({ m with
    sess := Arr.mod m.sess i fun s => { s with prog := .Done, status := .engine }
    jobs := insertJob ⟨i, a, .Decode, q.o i, none⟩ m.jobs
    ready := is } : Machine) = M
  have c : Changed m M i := by rw [← hM]; exact .of rfl rfl rfl
  have ai : M.at_ i = { m.at_ i with prog := .Done, status := .engine } := by
    rw [← hM]
    exact at_of (m := m) (f := fun s => { s with prog := .Done, status := .engine }) rfl hi.lt
  have hMr : M.ready = is := by rw [← hM]
  have hMj : M.jobs = insertJob ⟨i, a, .Decode, q.o i, none⟩ m.jobs := by rw [← hM]
  have hMo : M.obs = m.obs := by rw [← hM]
  have hMp : M.pools = m.pools := by rw [← hM]
  have hMq : que M = que m := by simp [que, Machine.pool, hMp]
  have hperm := perm_insertJob ⟨i, a, .Decode, q.o i, none⟩ m.jobs
  have hnow : M.now = m.now := by simp [Machine.now, c.clock]
  have hiq : i ∉ que m := fun h' => by
    have h1 := (h.queue i h').status
    rw [hi.status] at h1
    simp at h1
  have hij : ∀ j ∈ m.jobs, j.owner ≠ i := fun j hj h' => by
    have h1 := (h.jobs j hj).1.status
    rw [h', hi.status] at h1
    simp at h1
  have hne : ∀ {l : List Nat} {k : Nat}, i ∉ l → k ∈ l → k ≠ i := fun h1 h2 h3 => h1 (h3 ▸ h2)
  have hl : ∀ k ∈ is, left q M k = left q m k := fun k hk => by
    simp [left, c.other k (hne hir hk)]
  have hli : left q m i = q.o i := by simp [left, hp, body]
  have hwork : work q M = work q m := by
    have e1 := sumBy_perm (fun j : Job => q.peak j.owner * j.left) hperm
    unfold work
    rw [hMr, hMj, hr, e1, sumBy_congr (l := is) fun k hk => by rw [hl k hk]]
    simp only [sumBy, hli]
    omega
  have htaken : taken q M = taken q m := by
    have e1 := sumBy_perm (fun j : Job => q.peak j.owner) hperm
    unfold taken
    rw [hMr, hMj, hr, e1]
    simp only [sumBy]
    omega
  refine ⟨⟨by rw [c.size]; exact h.small, ?_, ?_, ?_, ?_, ?_, ?_, ?_, ?_, ?_⟩, ?_, ?_, ?_, ?_, ?_, ?_⟩
  · rw [hMp, htaken]; exact h.pool
  · rw [hMr]
    intro k hk
    exact (h.ready k (by simp [hr, hk])).keep (c.other k (hne hir hk)) c.size
  · rw [hMq]
    intro k hk
    exact (h.queue k hk).keep (c.other k (hne hiq hk)) c.size
  · rw [hMj]
    intro j hj
    rcases List.mem_cons.mp (hperm.mem_iff.mp hj) with rfl | hj
    · refine ⟨⟨by rw [c.size]; exact hi.lt, by rw [ai], ?_, by rw [ai], ?_⟩, rfl, rfl, ho⟩
      · rw [ai]; exact hi.stack
      · rw [ai]; exact hi.brings
    · exact ⟨(h.jobs j hj).1.keep (c.other _ (hij j hj)) c.size, (h.jobs j hj).2⟩
  · rw [hMr]; exact (List.nodup_cons.mp hnd).2
  · rw [hMq]; exact h.queueOnce
  · rw [hMj]
    refine nodup_perm (hperm.map _) ?_
    rw [List.map_cons, List.nodup_cons]
    refine ⟨?_, h.jobsOnce⟩
    intro h'
    obtain ⟨j, hj, hjo⟩ := List.mem_map.mp h'
    exact hij j hj hjo
  · rw [c.dues]; exact h.dues
  · rw [c.clock]; exact h.arrival
  · have e1 := sumBy_perm (fun j : Job => m.now + j.left) hperm
    have e2 : sumBy (fun k => M.now + left q M k) is = sumBy (fun k => m.now + left q m k) is :=
      sumBy_congr fun k hk => by rw [hl k hk, hnow]
    unfold due
    rw [hMr, hMj, hMq, hr, e2, hnow, e1]
    simp only [sumBy, hli, total, values, hMo]
    omega
  · simp [burden, hMq, hwork]
  · simp [total, values, hMo]
  · simp [values, hMo]
  · simp [owed, hMq, hwork]
  · intro x hx
    refine hx.change c (fun k hk hne => ?_) (fun k hk _ => ?_) (fun j hj => ?_) (fun _ _ h => h) ?_
    · rw [hr] at hk
      rw [hMr]
      rcases List.mem_cons.mp hk with h' | h'
      · exact absurd h' hne
      · exact h'
    · rw [hMq]; exact hk
    · rw [hMj]; exact ⟨j, hperm.mem_iff.mpr (List.mem_cons_of_mem _ hj), rfl⟩
    · refine Or.inr (Or.inr (Or.inr (Or.inl ?_)))
      rw [hMj]
      exact ⟨_, hperm.mem_iff.mpr List.mem_cons_self, rfl⟩

/-- A run has ended: the peak is given back, others are admitted, the response is noted. -/
theorem Struct.exec_done {is : List Nat} (h : Struct q 0 m) (hr : m.ready = i :: is)
    (hp : (m.at_ i).prog = .Done) (fuel : Nat) :
    Struct q 0 (exec deployment (fuel + 3) { m with ready := is } i) ∧
      Moves q m (exec deployment (fuel + 3) { m with ready := is } i) := by
  have hi := h.ready i (by simp [hr])
  have hnd := h.readyOnce
  rw [hr] at hnd
  have hir : i ∉ is := (List.nodup_cons.mp hnd).1
  obtain ⟨st, hpool, hent, hused, hcap⟩ := h.pool
  have hiq : i ∉ que m := fun h' => by
    have h1 := (h.queue i h').status
    rw [hi.status] at h1
    simp at h1
  have hij : ∀ j ∈ m.jobs, j.owner ≠ i := fun j hj h' => by
    have h1 := (h.jobs j hj).1.status
    rw [h', hi.status] at h1
    simp at h1
  have hli : left q m i = 0 := by simp [left, hp]
  -- the session is taken out of the ready ones
  have hw0 : work q { m with ready := is } = work q m := by
    have : work q m = sumBy (fun i => q.peak i * left q m i) (i :: is) +
      sumBy (fun j => q.peak j.owner * j.left) m.jobs := by rw [← hr]; rfl
    rw [this]
    simp only [sumBy, hli, Nat.mul_zero, Nat.zero_add]
    rfl
  have ht0 : taken q m = q.peak i + taken q { m with ready := is } := by
    have : taken q m = sumBy q.peak (i :: is) + sumBy (fun j => q.peak j.owner) m.jobs := by
      rw [← hr]; rfl
    rw [this]
    simp only [sumBy, taken]
    omega
  have hd0 : due q m = m.now + due q { m with ready := is } := by
    have : due q m = sumBy (fun i => m.now + left q m i) (i :: is) +
      sumBy (fun j => m.now + j.left) m.jobs + sumBy (fun i => m.now + q.o i) (que m) := by
      rw [← hr]; rfl
    rw [this]
    simp only [sumBy, hli, due]
    show _ = m.now + (sumBy (fun i => m.now + left q m i) is + sumBy (fun j => m.now + j.left) m.jobs +
      sumBy (fun i => m.now + q.o i) (que m))
    omega
  have hb0 : burden q { m with ready := is } = burden q m := by
    unfold burden
    rw [hw0]
    rfl
  have ho0 : owed q { m with ready := is } = owed q m := by
    unfold owed
    rw [hw0]
    rfl
  have h0 : Struct q (q.peak i) { m with ready := is } := by
    refine ⟨h.small, ⟨st, hpool, hent, by rw [hused, ht0]; omega, hcap⟩, ?_, ?_, ?_,
      (List.nodup_cons.mp hnd).2, h.queueOnce, h.jobsOnce, h.dues, h.arrival⟩
    · exact fun k hk => (h.ready k (by simp [hr]; exact Or.inr hk)).keep rfl rfl
    · exact fun k hk => (h.queue k hk).keep rfl rfl
    · exact fun j hj => ⟨(h.jobs j hj).1.keep rfl rfl, (h.jobs j hj).2⟩
  rw [KongSvf.exec_done (m := { m with ready := is }) (fuel + 2) hi.status hp hi.stack]
  obtain ⟨f, heq⟩ := finishHold_eq (m := { m with ready := is }) (i := i) (q := q) hpool
  rw [heq]
  -- the peak is given back
  generalize hR : released q st { m with ready := is } i = R
  have cR : Changed { m with ready := is } R i := by rw [← hR]; exact .of rfl rfl rfl
  have aR : R.at_ i = { m.at_ i with
      snap := (m.at_ i).attrs, attrs := Arr.put (m.at_ i).attrs 8 0, prog := rest, stack := [] } := by
    rw [← hR]
    exact at_of (m := m) (f := fun s =>
      { s with snap := s.attrs, attrs := Arr.put s.attrs 8 0, prog := rest, stack := [] }) rfl hi.lt
  have hRp : R.pools = [{ st with
      used := st.used - q.peak i, holders := removeOne i st.holders }] := by rw [← hR]; rfl
  have hRo : R.obs = m.obs := by rw [← hR]; rfl
  have hRr : R.ready = is := by rw [← hR]; rfl
  have hRj : R.jobs = m.jobs := by rw [← hR]; rfl
  have hRq : que R = que m := by simp [que, pool_of hRp, pool_of hpool]
  obtain ⟨r1, r2, r3, r4⟩ := h0.elsewhere (e' := 0) cR hir hiq hij (by rw [← hR]; rfl)
    (by rw [← hR]; rfl) hRq ⟨_, hRp, hent, by simp only; omega, by simp only; omega⟩
  -- others are admitted
  obtain ⟨a1, a2, a3, _⟩ := r1.admitHeads ((R.pool 0).queue.length + 1)
  rw [← admitAll_eq] at a1 a2
  have a3' : ((admitAll deployment R).at_ i) = R.at_ i := a3 i (by rw [hRq]; exact hiq)
  have cA := same_admitAll deployment R
  obtain ⟨t1, t2⟩ := a1.of_eq (m' := tally (admitAll deployment R) f) rfl rfl rfl rfl rfl rfl rfl
  have a4 : (tally (admitAll deployment R) f).at_ i = R.at_ i := a3'
  have hnow : (tally (admitAll deployment R) f).now = m.now := by
    show (admitAll deployment R).clock.now = _
    rw [cA.clock, cR.clock]
  have hlt : i < (tally (admitAll deployment R) f).sess.size := by
    show i < (admitAll deployment R).sess.size
    rw [cA.size, cR.size]
    exact hi.lt
  generalize tally (admitAll deployment R) f = A at t1 t2 a4 hnow hlt
  -- the response is noted, the session ends
  have sA : (A.at_ i).status = .ready := by rw [a4, aR]; exact hi.status
  have pA : (A.at_ i).prog = .Observe 2 (.CtxVar .Now) .End := by rw [a4, aR]; rfl
  have kA : (A.at_ i).stack = [] := by rw [a4, aR]
  rw [KongSvf.exec_observe (fuel + 1) sA pA]
  generalize hO : ({ A with
    sess := Arr.mod A.sess i fun s => { s with prog := .End }
    obs := _ } : Machine) = O
  have aO : O.at_ i = { A.at_ i with prog := .End } := by
    rw [← hO]; exact at_of (m := A) (f := fun s => { s with prog := .End }) rfl hlt
  have cO : Changed A O i := by rw [← hO]; exact .of rfl rfl rfl
  rw [KongSvf.exec_end fuel (by rw [aO]; exact sA) (by rw [aO]) (by rw [aO]; exact kA)]
  generalize hE : (O.modSess i fun s => { s with prog := .Done, stack := [], status := .ended }) = E
  have cE : Changed O E i := by rw [← hE]; exact .of rfl rfl rfl
  have hEo : E.obs = ⟨2, (A.at_ i).serial, m.now, m.now⟩ :: A.obs := by
    have e1 : Expr.eval (A.sessEnv deployment i 0) (.CtxVar .Now) = m.now := hnow
    rw [← hE, ← hO]
    simp only [e1, hnow, Machine.modSess]
  have hEp : E.pools = A.pools := by rw [← hE, ← hO]; rfl
  have nr : i ∉ A.ready := fun h' => by
    have h1 := (t1.ready i h').stack
    rw [kA] at h1
    simp at h1
  have nq : i ∉ que A := fun h' => by
    have h1 := (t1.queue i h').status
    rw [sA] at h1
    simp at h1
  have nj : ∀ j ∈ A.jobs, j.owner ≠ i := fun j hj h' => by
    have h1 := (t1.jobs j hj).1.status
    rw [h', sA] at h1
    simp at h1
  obtain ⟨f1, f2, f3, f4⟩ := t1.elsewhere (e' := 0) (cO.trans cE) nr nq nj (by rw [← hE, ← hO]; rfl)
    (by rw [← hE, ← hO]; rfl) (by simp [que, Machine.pool, hEp]) (by rw [hEp]; exact t1.pool)
  have g := a2.trans t2
  refine ⟨f1, ?_, ?_, ?_, ?_, ?_, ?_⟩
  · have e1 : total E 2 = m.now + total A 2 := by simp [total, values, hEo, valuesOf, sumOf]
    have e2 := g.soon
    have e3 : total R 2 = total m 2 := by simp [total, values, hRo]
    rw [e1, f2, hd0]
    rw [e3, r2] at e2
    omega
  · have e2 := g.burden
    rw [f3]
    rw [r3, hb0] at e2
    exact e2
  · have e1 : total E 0 = total A 0 := by simp [total, values, hEo, valuesOf]
    have e2 := g.outputs
    rw [e1, e2]
    simp [total, values, hRo]
  · have e1 : values E 1 = values A 1 := by simp [values, hEo, valuesOf]
    have e2 := g.volumes
    rw [e1, e2]
    simp [values, hRo]
  · rw [f4, g.owed, r4, ho0]
  · intro x hx
    have cm : Changed m R i := ⟨cR.size, cR.other, cR.clock, cR.dues⟩
    have hR1 : Home (fun k => x k ∨ k = i) R := by
      refine hx.change cm (fun k hk hne => ?_) (fun k hk _ => ?_) (fun j hj => ?_)
        (fun _ _ h => Or.inl h) (Or.inr (Or.inr (Or.inr (Or.inr (Or.inr rfl)))))
      · rw [hr] at hk
        rw [hRr]
        rcases List.mem_cons.mp hk with h' | h'
        · exact absurd h' hne
        · exact h'
      · rw [hRq]; exact hk
      · rw [hRj]; exact ⟨j, hj, rfl⟩
    refine (g.home _ hR1).change (cO.trans cE) (fun k hk _ => ?_) (fun k hk _ => ?_) (fun j hj => ?_)
      (fun k hne h => ?_) (Or.inl ?_)
    · rw [← hE, ← hO]; exact hk
    · have : que E = que A := by simp [que, Machine.pool, hEp]
      rw [this]; exact hk
    · rw [← hE, ← hO]; exact ⟨j, hj, rfl⟩
    · rcases h with h | h
      · exact h
      · exact absurd h hne
    · rw [← hE]
      rw [at_self (by rw [cO.size]; exact hlt)]

/-- A ready session's commands. -/
theorem Struct.exec {is : List Nat} (h : Struct q 0 m) (hr : m.ready = i :: is) :
    Struct q 0 (exec deployment execFuel { m with ready := is } i) ∧
      Moves q m (Serq.exec deployment execFuel { m with ready := is } i) := by
  rcases (h.ready i (by simp [hr])).prog with hp | hp
  · exact h.exec_body hr hp 99999
  · exact h.exec_done hr hp 99997

/-- The ready sessions' commands. -/
theorem Struct.drain (fuel : Nat) : ∀ m, Struct q 0 m →
    Struct q 0 (drain deployment fuel m) ∧ Moves q m (Serq.drain deployment fuel m) := by
  induction fuel with
  | zero =>
    intro m h
    unfold Serq.drain
    exact h.of_eq (m' := { m with outOfFuel := true }) rfl rfl rfl rfl rfl rfl rfl
  | succ fuel ih =>
    intro m h
    unfold Serq.drain
    split
    · exact ⟨h, Moves.refl q m⟩
    · next i is hr =>
      obtain ⟨s1, s2⟩ := h.exec hr
      obtain ⟨t1, t2⟩ := ih _ s1
      exact ⟨t1, s2.trans t2⟩

/-- An instant after the first has settled. -/
structure Settled (m : Machine) : Prop where
  ready : m.ready = []
  blocked : Blocked m

/-- Admission, and settling on. -/
theorem Struct.settleFrom (fuel : Nat)
    (ih : ∀ m, Struct q 0 m → Struct q 0 (settle deployment fuel m) ∧
      Moves q m (Serq.settle deployment fuel m) ∧
      ((Serq.settle deployment fuel m).outOfFuel = false → Settled (Serq.settle deployment fuel m)))
    {d : Machine} (h : Struct q 0 d) {x : Machine}
    (hx : x = match (admitAll deployment d).ready with
      | [] => admitAll deployment d
      | _ => Serq.settle deployment fuel (admitAll deployment d)) :
    Struct q 0 x ∧ Moves q d x ∧ (x.outOfFuel = false → Settled x) := by
  obtain ⟨a1, a2, _, a4⟩ := h.admitHeads ((d.pool 0).queue.length + 1)
  rw [← admitAll_eq] at a1 a2 a4
  split at hx
  · next hr =>
    subst hx
    exact ⟨a1, a2, fun hf => ⟨hr, a4 hf⟩⟩
  · subst hx
    obtain ⟨t1, t2, t3⟩ := ih _ a1
    exact ⟨t1, a2.trans t2, t3⟩

/-- Settling. -/
theorem Struct.settle (fuel : Nat) : ∀ m, Struct q 0 m → Struct q 0 (settle deployment fuel m) ∧
    Moves q m (Serq.settle deployment fuel m) ∧
    ((Serq.settle deployment fuel m).outOfFuel = false →
      Settled (Serq.settle deployment fuel m)) := by
  induction fuel with
  | zero =>
    intro m h
    unfold Serq.settle
    obtain ⟨s1, s2⟩ := h.of_eq (m' := { m with outOfFuel := true }) rfl rfl rfl rfl rfl rfl rfl
    exact ⟨s1, s2, fun h' => by simp at h'⟩
  | succ fuel ih =>
    intro m h
    obtain ⟨d1, d2⟩ := h.drain instantFuel m
    obtain ⟨s1, s2, s3⟩ := d1.settleFrom fuel ih (x := Serq.settle deployment (fuel + 1) m) rfl
    exact ⟨s1, d2.trans s2, s3⟩

end Serq.Papers.KongSvf
