import Serq.Claims.KongSvf
import Serq.Papers.KongOptimum
import Serq.Papers.KongPath
import Serq.Thm.TwoRuns
/-!
# Smallest Volume First (Kong, Qi, Ye, Zhou, arXiv 2606.22327)

`queueing_bound`: when all requests of a burst have been served, M - P times the waiting times is at most
twice the volumes ahead of everybody in order of volume.

## The argument

Write `n` for the number of waiting requests, `Q` for the list of their volumes, `R` for the sum over the
admitted requests of peak times steps left, `T0` for the total of the outputs observed, and

    X = total response + Σ admitted (now + steps left) + Σ waiting (now + output)
    Y = n * R + 2 * ahead Q

`X` is what the total response will be if everybody who waits is admitted now. The potential is
`17501 * X + Y ≤ 17501 * T0 + 2 * ahead (all volumes)`, and `T0 ≤ X`. Nothing is said about single
requests and nothing about the order of those admitted: `ahead` is a function of the values alone.

1. Arrival (this file): before the first admission everybody waits; `X = T0`, `Y = 2 * ahead (all)`.
2. Admission of a request of least volume (`KongMoves`): `X` stays, `Y` does not grow.
3. A run begins, a run ends, a hold is released, a response is noted (`KongInstant`): `X` and `Y` stay.
4. A step (`KongPath`): `X` grows by `n`, `R` falls by the peaks of the running requests. When somebody
   waits those peaks are at least 17501, because the selected request did not fit, and after an instant
   has settled the pool's `used` is the sum of the running requests' peaks.
5. At the end nobody waits and nobody is admitted: `X` is the total response, `Y = 0`.

All sums run over the ready sessions, the queue and the jobs, so nothing need be known of a session that
has ended.
-/

namespace Serq.Papers.KongSvf

open KongMath

variable {q : Requests} {m m' : Machine} {i n : Nat}

/-! ## Everybody comes -/

/-- A request that has not run a command. -/
structure Fresh (q : Requests) (m : Machine) (i : Nat) : Prop where
  lt : i < m.sess.size
  status : (m.at_ i).status = .ready
  prog : (m.at_ i).prog = prog
  turns : (m.at_ i).turns = none
  stack : (m.at_ i).stack = []
  brings : Brings q i (m.at_ i).attrs

/-- Requests come, and nobody has been admitted. -/
structure Arriving (q : Requests) (n : Nat) (m : Machine) : Prop where
  small : ∀ i, i < m.sess.size → q.peak i ≤ 2500 ∧ 1 ≤ q.o i
  size : m.sess.size = n
  pool : ∃ st, m.pools = [st] ∧ st.entries = [] ∧ st.used = 0
  ready : ∀ i ∈ m.ready, Fresh q m i
  queue : ∀ i ∈ que m, Queued q m i
  everybody : (m.ready ++ que m).Perm (countFrom 0 n)
  readyOnce : m.ready.Nodup
  queueOnce : (que m).Nodup
  jobs : m.jobs = []
  dues : m.dues = []
  arrival : m.clock.arrival = none
  iter : m.clock.iterEnd = none
  now : m.clock.now = 0
  outputs : total m 0 = sumBy q.o (que m)
  volumes : (values m 1).Perm ((que m).map q.vol)
  responses : total m 2 = 0

/-- A request comes. -/
theorem Arriving.exec {is : List Nat} (h : Arriving q n m) (hr : m.ready = i :: is) :
    Arriving q n (exec deployment execFuel { m with ready := is } i) := by
  have hi := h.ready i (by simp [hr])
  have hnd := h.readyOnce
  rw [hr] at hnd
  have hir : i ∉ is := (List.nodup_cons.mp hnd).1
  obtain ⟨st, hpool, hent, hused⟩ := h.pool
  generalize hM : Serq.exec deployment execFuel { m with ready := is } i = M
  obtain ⟨c, f1, f2, f3, f4, a, b, f5⟩ := exec_arrive (m := { m with ready := is }) (q := q) 99996
    hi.lt hi.status hi.prog hi.turns hi.stack hi.brings (h.small i hi.lt).1 hpool hM
  have hqm : que m = st.queue := by simp [que, pool_of hpool]
  have hqM : que M = que m ++ [i] := by rw [hqm]; simp [que, pool_of f1]
  have hiq : i ∉ que m := fun h' => by
    have h1 := (h.queue i h').status
    rw [hi.status] at h1
    simp at h1
  have hne : ∀ {l : List Nat} {k : Nat}, i ∉ l → k ∈ l → k ≠ i := fun h1 h2 h3 => h1 (h3 ▸ h2)
  refine ⟨by rw [c.size]; exact h.small, by rw [c.size]; exact h.size, ⟨_, f1, hent, hused⟩, ?_, ?_, ?_, ?_, ?_, by rw [f3]; exact h.jobs,
    by rw [c.dues]; exact h.dues, by rw [c.clock]; exact h.arrival, by rw [c.clock]; exact h.iter,
    by rw [c.clock]; exact h.now, ?_, ?_, ?_⟩
  · intro k hk
    rw [f2] at hk
    have hk' : k ∈ is := hk
    have ha : M.at_ k = m.at_ k := c.other k (hne hir hk')
    obtain ⟨g1, g2, g3, g4, g5, g6⟩ := h.ready k (by rw [hr]; exact List.mem_cons_of_mem _ hk')
    exact ⟨by rw [c.size]; exact g1, by rw [ha]; exact g2, by rw [ha]; exact g3, by rw [ha]; exact g4,
      by rw [ha]; exact g5, by rw [ha]; exact g6⟩
  · intro k hk
    rw [hqM] at hk
    rcases List.mem_append.mp hk with hk | hk
    · exact (h.queue k hk).keep (m' := M) (c.other k (hne hiq hk)) c.size
    · rw [List.mem_singleton.mp hk]; exact f4
  · have e1 := h.everybody
    rw [hr] at e1
    rw [f2, hqM, ← List.append_assoc]
    exact List.perm_append_comm.trans e1
  · rw [f2]; exact (List.nodup_cons.mp hnd).2
  · rw [hqM, List.nodup_append]
    refine ⟨h.queueOnce, by simp, ?_⟩
    intro x hx y hy
    rw [List.mem_singleton.mp hy]
    exact hne hiq hx
  · have e1 := h.outputs
    simp only [total, values] at e1 ⊢
    rw [f5, hqM, sumBy_append]
    show q.o i + sumOf (valuesOf 0 m.obs) = _
    simp only [sumBy]
    omega
  · have e1 := h.volumes
    simp only [values] at e1 ⊢
    rw [f5, hqM, List.map_append]
    show (q.vol i :: valuesOf 1 m.obs).Perm _
    exact (e1.cons _).trans (List.perm_append_comm (l₁ := [q.vol i]))
  · have e1 := h.responses
    simp only [total, values] at e1 ⊢
    rw [f5]
    exact e1

/-- Everybody comes, unless fuel runs out. -/
theorem Arriving.drain (fuel : Nat) : ∀ m, Arriving q n m →
    (drain deployment fuel m).outOfFuel = false →
    Arriving q n (Serq.drain deployment fuel m) ∧ (Serq.drain deployment fuel m).ready = [] := by
  induction fuel with
  | zero =>
    intro m _ hf
    unfold Serq.drain at hf
    simp at hf
  | succ fuel ih =>
    intro m h
    unfold Serq.drain
    split
    · next hr => exact fun _ => ⟨h, hr⟩
    · next i is hr => exact ih _ (h.exec hr)

/-- When everybody has come, the potential is what it will be measured against. -/
theorem Arriving.done (h : Arriving q n m) (hr : m.ready = []) : Struct q 0 m ∧ Potential q n m := by
  obtain ⟨st, hpool, hent, hused⟩ := h.pool
  have ht : taken q m = 0 := by simp [taken, hr, h.jobs, sumBy]
  have hw : work q m = 0 := by simp [work, hr, h.jobs, sumBy]
  have hd : due q m = total m 0 := by
    have : m.now = 0 := h.now
    simp [due, hr, h.jobs, sumBy, this, h.outputs]
  refine ⟨⟨h.small, ⟨st, hpool, hent, by omega, by omega⟩, by simp [hr], h.queue, by simp [h.jobs],
    by simp [hr], h.queueOnce, by simp [h.jobs], h.dues, h.arrival⟩, ?_, ?_, ?_, ?_⟩
  · rw [hd]; omega
  · rw [hd, h.responses, ahead_perm h.volumes]
    unfold burden
    rw [hw]
    omega
  · have e1 := h.everybody
    rw [hr, List.nil_append] at e1
    rw [h.outputs, sumBy_perm _ e1]
  · have e1 := h.everybody
    rw [hr, List.nil_append] at e1
    exact h.volumes.trans (e1.map _)

/-- Counting reaches everything. -/
theorem countFrom_mem {k : Nat} (n : Nat) : ∀ {i : Nat}, i ≤ k → k < i + n → k ∈ countFrom i n := by
  induction n with
  | zero => intro i h1 h2; omega
  | succ n ih =>
    intro i h1 h2
    by_cases h : k = i
    · rw [h]; exact List.mem_cons_self
    · exact List.mem_cons_of_mem _ (ih (i := i + 1) (by omega) (by omega))

/-- When everybody has come, everybody waits. -/
theorem Arriving.home (h : Arriving q n m) (hr : m.ready = []) : Home (fun _ => False) m := by
  intro k hk
  rw [h.size] at hk
  have e1 := h.everybody
  rw [hr, List.nil_append] at e1
  exact Or.inr (Or.inr (Or.inl (e1.mem_iff.mpr (countFrom_mem n (Nat.zero_le k) (by omega)))))

/-- Numbers counted from `i` on are not below `i`. -/
theorem mem_countFrom {n k : Nat} : ∀ {i : Nat}, k ∈ countFrom i n → i ≤ k ∧ k < i + n := by
  induction n with
  | zero => intro i h; simp [countFrom] at h
  | succ n ih =>
    intro i h
    rcases List.mem_cons.mp h with rfl | h
    · omega
    · have := ih h
      omega

/-- Counting counts everything once. -/
theorem nodup_countFrom (n : Nat) : ∀ i, (countFrom i n).Nodup := by
  induction n with
  | zero => intro i; simp [countFrom]
  | succ n ih =>
    intro i
    refine List.nodup_cons.mpr ⟨fun h => ?_, ih (i + 1)⟩
    have := mem_countFrom h
    omega

/-- What a session brings in an attribute does not depend on the attributes written before. -/
theorem assign_slot (slot : Nat) (l : List (Nat × Nat)) : ∀ x y : Array Nat,
    Arr.at! x slot = Arr.at! y slot → Arr.at! (assign l x) slot = Arr.at! (assign l y) slot := by
  induction l with
  | nil => intro x y h; exact h
  | cons a l ih =>
    intro x y h
    unfold assign
    refine ih _ _ ?_
    rw [Arr.at_put, Arr.at_put, h]

/-- The requests of a workload. -/
def requestsOf (w : Workload) : Requests := ⟨fun i => w.attr i 9, fun i => w.attr i 10⟩

/-- Before anything has happened. -/
theorem Arriving.initial {w : Workload} (hw : Claims.KongSvf.family_queueing_bound w) :
    Arriving (requestsOf w) w.init.length (initial deployment w prog) := by
  obtain ⟨_, ht, hg, hsmall⟩ := hw
  have heq : Serq.initial deployment w prog =
      { (default : Machine) with
        pools := [{}], stages := [{}]
        sess := ⟨newSessions deployment prog .ready 0 w.init w.turns⟩
        clock := { (default : Machine).clock with arrived := w.init.length }
        ready := countFrom 0 w.init.length } := by
    unfold Serq.initial
    simp only [hg]
    rfl
  rw [ht] at heq
  generalize Serq.initial deployment w prog = I at heq ⊢
  have hlen := TwoRuns.newSessions_length deployment prog .ready 0 w.init []
  have hsize : I.sess.size = w.init.length := by rw [heq]; simpa using hlen
  have hready : I.ready = countFrom 0 w.init.length := by rw [heq]
  have hque : que I = [] := by rw [heq]; rfl
  have hat : ∀ k, k < w.init.length →
      I.at_ k = newSess deployment prog k (Lst.nth [] w.init k) none .ready := by
    intro k hk
    have := TwoRuns.newSessions_nth deployment prog .ready 0 w.init hk
    simp only [Nat.zero_add] at this
    simp only [Machine.at_, Arr.at!, heq]
    exact this
  have hbr : ∀ k, Brings (requestsOf w) k
      (newSess deployment prog k (Lst.nth [] w.init k) none .ready).attrs := by
    intro k
    have h9 := assign_slot 9 (Lst.nth [] w.init k) (Arr.put #[] 1 k) #[] (by rw [Arr.at_put]; rfl)
    have h10 := assign_slot 10 (Lst.nth [] w.init k) (Arr.put #[] 1 k) #[] (by rw [Arr.at_put]; rfl)
    exact ⟨h9, h10⟩
  refine ⟨?_, hsize, ⟨{}, by rw [heq], rfl, rfl⟩, ?_, by simp [hque], by simp [hque, hready],
    by rw [hready]; exact nodup_countFrom _ _, by simp [hque], by rw [heq]; rfl, by rw [heq]; rfl,
    by rw [heq]; rfl, by rw [heq]; rfl, by rw [heq]; rfl, ?_, ?_, by rw [heq]; rfl⟩
  · intro k hk
    rw [hsize] at hk
    exact hsmall k hk
  · intro k hk
    have hk' : k < w.init.length := by
      rw [hready] at hk
      have := mem_countFrom hk
      omega
    have ha := hat k hk'
    refine ⟨by rw [hsize]; exact hk', ?_, ?_, ?_, ?_, ?_⟩ <;> rw [ha]
    · rfl
    · rfl
    · rfl
    · rfl
    · exact hbr k
  · rw [hque, heq]; rfl
  · rw [hque, heq]; exact .nil

/-- The first instant. -/
theorem between_start {w : Workload} (hw : Claims.KongSvf.family_queueing_bound w)
    (hf : (start deployment w prog).outOfFuel = false) :
    Between (requestsOf w) w.init.length (start deployment w prog) := by
  have h0 := Arriving.initial hw
  unfold start at hf ⊢
  generalize initial deployment w prog = x at h0 hf ⊢
  generalize hd : drain deployment instantFuel x = d
  have hset : settle deployment instantFuel x = match (admitAll deployment d).ready with
      | [] => admitAll deployment d
      | _ => settle deployment 99999 (admitAll deployment d) := by
    rw [← hd]; rfl
  have hsf := settle_of_after hf
  rw [hset] at hsf
  have hdf : d.outOfFuel = false := by
    cases hb : d.outOfFuel with
    | false => rfl
    | true =>
      have h1 := (same_admitAll deployment d).fuel hb
      split at hsf
      · rw [h1] at hsf; exact absurd hsf (by simp)
      · rw [(same_settle deployment 99999 _).fuel h1] at hsf; exact absurd hsf (by simp)
  obtain ⟨a1, a2⟩ := h0.drain instantFuel x (by rw [hd]; exact hdf)
  rw [hd] at a1 a2
  obtain ⟨s1, p1⟩ := a1.done a2
  obtain ⟨t1, t2, t3⟩ := s1.settleFrom 99999 (Struct.settle 99999) hset
  exact between_after rfl t1 (p1.moves t2) t3 (t2.home _ (a1.home a2)) h0.iter hf

/-- Every machine of a path whose fuel has not run out. -/
theorem between_reach {w : Workload} (hw : Claims.KongSvf.family_queueing_bound w) {m : Machine}
    (hm : Reach deployment w prog m) : m.outOfFuel = false → Between (requestsOf w) w.init.length m := by
  induction hm with
  | start => exact between_start hw
  | @step m _ ih =>
    intro hf
    exact (ih (fuel_of_step hf)).step hf

/-- When everybody has ended, nobody waits and nobody is served. -/
theorem Between.over (h : Between q n m)
    (hend : ∀ i, i < m.sess.size → (m.at_ i).status = .ended) :
    total m 0 ≤ total m 2 ∧ 17501 * total m 2 ≤ 17501 * total m 0 + 2 * ahead (values m 1) := by
  have hq : que m = [] := by
    cases hq : que m with
    | nil => rfl
    | cons k ks =>
      have h1 := h.struct.queue k (by simp [hq])
      have h2 := h1.status
      rw [hend k h1.lt] at h2
      exact absurd h2 (by simp)
  have hj : m.jobs = [] := by
    cases hj : m.jobs with
    | nil => rfl
    | cons j js =>
      have h1 := (h.struct.jobs j (by simp [hj])).1
      have h2 := h1.status
      rw [hend _ h1.lt] at h2
      exact absurd h2 (by simp)
  have hd : due q m = 0 := by simp [due, h.settled.ready, hq, hj, sumBy]
  have h1 := h.potential.outputs
  have h2 := h.potential.bound
  rw [hd] at h1 h2
  omega

/-- The program and the deployment of the claims are those that have been spoken of. -/
theorem of_claims {w : Workload} {m : Machine}
    (hm : Reach Claims.KongSvf.deployment w Claims.KongSvf.prog m) : Reach deployment w prog m := hm

/-- When all requests of a burst have been served, M - P times the waiting times is at most twice the
volumes ahead of everybody in order of volume: Lemma A.2 summed over the requests. -/
theorem queueing_bound : Claims.KongSvf.queueing_bound := by
  intro w hw m hm hf hend
  obtain ⟨h1, h2⟩ := (between_reach hw (of_claims hm) hf).over hend
  have h3 : 17500 * (total m 2 - total m 0) ≤ 17501 * (total m 2 - total m 0) :=
    Nat.mul_le_mul_right _ (by decide)
  rw [Nat.mul_sub] at h3 ⊢
  show _ ≤ 2 * ahead (values m 1)
  omega

/-- No response is earlier than its output, and the volumes are part of their own prefix sums: nothing
in the claim is cut off at 0. -/
theorem queueing_bound_no_truncation : Claims.KongSvf.queueing_bound_no_truncation := by
  intro w hw m hm hf hend
  exact ⟨((between_reach hw (of_claims hm) hf).over hend).1, sumOf_le_prefixTotalOf _⟩

/-- A schedule of the requests of a workload: who starts when. -/
def scheduleOf (w : Workload) (x : Nat → Nat) : List Start :=
  (countFrom 0 w.init.length).map fun i => ⟨w.attr i 9, w.attr i 10, x i⟩

/-- A sum over a list is the sum of its terms. -/
theorem sumBy_eq {α : Type} (f : α → Nat) (l : List α) : sumBy f l = sumOf (l.map f) := by
  induction l with
  | nil => rfl
  | cons a l ih => simp [sumBy, sumOf, ih]

/-- When all requests of a burst have been served smallest volume first, their total completion time is
at most (3M - P) / (M - P) = 57 500 / 17 500 times that of any schedule of the same requests that fits
into the memory: Theorem 3.2, ratio 1 + 2 / (1 - alpha). -/
theorem competitive_ratio {w : Workload} (hw : Claims.KongSvf.family_queueing_bound w) {m : Machine}
    (hm : Reach Claims.KongSvf.deployment w Claims.KongSvf.prog m) (hf : m.outOfFuel = false)
    (hend : ∀ i, i < m.sess.size → (m.at_ i).status = .ended) (x : Nat → Nat)
    (hx : Feasible 20000 (scheduleOf w x)) :
    17500 * total m 2 ≤ 57500 * totalCompletion (scheduleOf w x) := by
  have hb := between_reach hw (of_claims hm) hf
  have h1 : 17500 * (total m 2 - total m 0) ≤ 2 * (prefixTotal m 1 - total m 1) :=
    queueing_bound w hw m hm hf hend
  have h2 := hb.potential.everyOutput
  have h3 := hb.potential.everyVolume
  have e1 : (scheduleOf w x).map Start.o = (countFrom 0 w.init.length).map (requestsOf w).o := by
    simp [scheduleOf, requestsOf, Function.comp_def]
  have e2 : (scheduleOf w x).map Start.vol = (countFrom 0 w.init.length).map (requestsOf w).vol := by
    simp [scheduleOf, requestsOf, Function.comp_def, Start.vol, Requests.vol]
  have h4 := opt_lower_bound _ (scheduleOf w x) rfl hx
  have h5 := outputs_le (scheduleOf w x)
  rw [e2, ← prefixTotalOf_perm h3] at h4
  rw [e1, ← sumBy_eq, ← h2] at h5
  refine competitive (c := 17500) (M := 20000) (outputs := total m 0)
    (aheads := prefixTotal m 1 - total m 1) (prefixes := prefixTotal m 1) ?_ (Nat.sub_le _ _) h4 h5
  rw [Nat.mul_sub] at h1
  omega

end Serq.Papers.KongSvf
