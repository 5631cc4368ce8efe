import Serq.Papers.KongState
import Serq.Papers.Sums
import Serq.Thm.ServeBatch
/-!
# Smallest Volume First: the potential
-/

namespace Serq.Papers.KongSvf

open KongMath

/-! ## What is summed -/

/-- Who waits. -/
def que (m : Machine) : List Nat := (m.pool 0).queue

/-- The steps that a request which holds its peak has left. -/
def left (q : Requests) (m : Machine) (i : Nat) : Nat :=
  match (m.at_ i).prog with
  | .Done => 0
  | _ => q.o i

/-- What the responses that are still out will add up to, if everybody who waits is admitted now. -/
def due (q : Requests) (m : Machine) : Nat :=
  sumBy (fun i => m.now + left q m i) m.ready + sumBy (fun j => m.now + j.left) m.jobs +
    sumBy (fun i => m.now + q.o i) (que m)

/-- The steps left of those who hold their peaks, weighed with the peaks. -/
def work (q : Requests) (m : Machine) : Nat :=
  sumBy (fun i => q.peak i * left q m i) m.ready + sumBy (fun j => q.peak j.owner * j.left) m.jobs

/-- The peaks that are held. -/
def taken (q : Requests) (m : Machine) : Nat :=
  sumBy q.peak m.ready + sumBy (fun j => q.peak j.owner) m.jobs

/-- What stands ahead of those who wait: the weighed work for each of them, and twice the volumes of
each other. -/
def burden (q : Requests) (m : Machine) : Nat :=
  (que m).length * work q m + 2 * ahead ((que m).map q.vol)

/-- All the steps that are still to be served, weighed with the peaks. -/
def owed (q : Requests) (m : Machine) : Nat :=
  work q m + sumBy (fun i => q.peak i * q.o i) (que m)

/-- The state of a path after everybody has come; `e` is what a session in hand still holds. -/
structure Struct (q : Requests) (e : Nat) (m : Machine) : Prop where
  small : ∀ i, i < m.sess.size → q.peak i ≤ 2500 ∧ 1 ≤ q.o i
  pool : ∃ st, m.pools = [st] ∧ st.entries = [] ∧ st.used = e + taken q m ∧ st.used ≤ 20000
  ready : ∀ i ∈ m.ready, Holding q m i
  queue : ∀ i ∈ que m, Queued q m i
  jobs : ∀ j ∈ m.jobs, Running q m j.owner ∧ j.mode = .Decode ∧ j.growing = none ∧ 1 ≤ j.left
  readyOnce : m.ready.Nodup
  queueOnce : (que m).Nodup
  jobsOnce : (m.jobs.map (·.owner)).Nodup
  dues : m.dues = []
  arrival : m.clock.arrival = none

/-- Every session has ended, stands in a list or is one of `x`. -/
def Home (x : Nat → Prop) (m : Machine) : Prop :=
  ∀ k, k < m.sess.size → (m.at_ k).status = .ended ∨ k ∈ m.ready ∨ k ∈ que m ∨
    (∃ j ∈ m.jobs, j.owner = k) ∨ x k

/-- When one session changes and the others stay in their lists, everybody is at home if that session
is. -/
theorem Home.change {m m' : Machine} {x y : Nat → Prop} {i : Nat} (h : Home x m) (c : Changed m m' i)
    (hr : ∀ k ∈ m.ready, k ≠ i → k ∈ m'.ready) (hq : ∀ k ∈ que m, k ≠ i → k ∈ que m')
    (hj : ∀ j ∈ m.jobs, ∃ j' ∈ m'.jobs, j'.owner = j.owner) (hx : ∀ k, k ≠ i → x k → y k)
    (hi : (m'.at_ i).status = .ended ∨ i ∈ m'.ready ∨ i ∈ que m' ∨ (∃ j ∈ m'.jobs, j.owner = i) ∨ y i) :
    Home y m' := by
  intro k hk
  by_cases hki : k = i
  · rw [hki]; exact hi
  · rw [c.other k hki]
    rw [c.size] at hk
    rcases h k hk with g | g | g | ⟨j, g, go⟩ | g
    · exact Or.inl g
    · exact Or.inr (Or.inl (hr k g hki))
    · exact Or.inr (Or.inr (Or.inl (hq k g hki)))
    · obtain ⟨j', g', go'⟩ := hj j g
      exact Or.inr (Or.inr (Or.inr (Or.inl ⟨j', g', go'.trans go⟩)))
    · exact Or.inr (Or.inr (Or.inr (Or.inr (hx k hki g))))

/-- What an instant does to the sums. -/
structure Moves (q : Requests) (m m' : Machine) : Prop where
  soon : total m' 2 + due q m' = total m 2 + due q m
  burden : burden q m' ≤ burden q m
  outputs : total m' 0 = total m 0
  volumes : values m' 1 = values m 1
  owed : owed q m' = owed q m
  home : ∀ x, Home x m → Home x m'

/-- Doing nothing moves nothing. -/
theorem Moves.refl (q : Requests) (m : Machine) : Moves q m m := ⟨rfl, Nat.le_refl _, rfl, rfl, rfl, fun _ h => h⟩

/-- Two moves are one. -/
theorem Moves.trans {q : Requests} {a b c : Machine} (h : Moves q a b) (h' : Moves q b c) :
    Moves q a c :=
  ⟨h'.soon.trans h.soon, Nat.le_trans h'.burden h.burden, h'.outputs.trans h.outputs,
    h'.volumes.trans h.volumes, h'.owed.trans h.owed, fun x hx => h'.home x (h.home x hx)⟩

variable {q : Requests} {e : Nat} {m m' : Machine} {i k : Nat}

/-! ## Sessions that are not touched -/

/-- A session that is as it was waits as before. -/
theorem Queued.keep (h : Queued q m k) (ha : m'.at_ k = m.at_ k) (hs : m'.sess.size = m.sess.size) :
    Queued q m' k :=
  ⟨by rw [hs]; exact h.lt, by rw [ha]; exact h.status, by rw [ha]; exact h.stack,
    by rw [ha]; exact h.prog, by rw [ha]; exact h.front, by rw [ha]; exact h.brings⟩

/-- A session that is as it was holds its peak as before. -/
theorem Holding.keep (h : Holding q m k) (ha : m'.at_ k = m.at_ k)
    (hs : m'.sess.size = m.sess.size) : Holding q m' k :=
  ⟨by rw [hs]; exact h.lt, by rw [ha]; exact h.status, by rw [ha]; exact h.stack,
    by rw [ha]; exact h.prog, by rw [ha]; exact h.brings⟩

/-- A session that is as it was runs as before. -/
theorem Running.keep (h : Running q m k) (ha : m'.at_ k = m.at_ k)
    (hs : m'.sess.size = m.sess.size) : Running q m' k :=
  ⟨by rw [hs]; exact h.lt, by rw [ha]; exact h.status, by rw [ha]; exact h.stack,
    by rw [ha]; exact h.prog, by rw [ha]; exact h.brings⟩

/-- Machines that agree in what is read have the same state and the same sums. -/
theorem Struct.of_eq (h : Struct q e m) (hs : m'.sess = m.sess) (hp : m'.pools = m.pools)
    (hr : m'.ready = m.ready) (hj : m'.jobs = m.jobs) (hd : m'.dues = m.dues)
    (hc : m'.clock = m.clock) (ho : m'.obs = m.obs) : Struct q e m' ∧ Moves q m m' := by
  have ha : ∀ k, m'.at_ k = m.at_ k := fun k => by simp [Machine.at_, hs]
  have hz : m'.sess.size = m.sess.size := by rw [hs]
  have hq : que m' = que m := by simp [que, Machine.pool, hp]
  have hl : ∀ k, left q m' k = left q m k := fun k => by simp [left, ha]
  have hw : work q m' = work q m := by simp [work, hr, hj, hl]
  have ht : taken q m' = taken q m := by simp [taken, hr, hj]
  refine ⟨⟨by rw [hz]; exact h.small, ?_, ?_, ?_, ?_, by rw [hr]; exact h.readyOnce,
    by rw [hq]; exact h.queueOnce, by rw [hj]; exact h.jobsOnce, by rw [hd]; exact h.dues,
    by rw [hc]; exact h.arrival⟩, ?_, ?_, ?_, ?_, ?_, ?_⟩
  · rw [hp, ht]; exact h.pool
  · rw [hr]; exact fun k hk => (h.ready k hk).keep (ha k) hz
  · rw [hq]; exact fun k hk => (h.queue k hk).keep (ha k) hz
  · rw [hj]; exact fun j hj => ⟨(h.jobs j hj).1.keep (ha _) hz, (h.jobs j hj).2⟩
  · simp [due, total, values, ho, hr, hj, hq, hl, Machine.now, hc]
  · simp [burden, hq, hw]
  · simp [total, values, ho]
  · simp [values, ho]
  · simp [owed, hq, hw]
  · intro x hx k hk
    rw [ha, hr, hq, hj]
    exact hx k (by rw [← hz]; exact hk)

/-- A session that stands in no list is changed: the lists' members stand as before. -/
theorem Struct.elsewhere (h : Struct q e m) (c : Changed m m' i) (hn : i ∉ m.ready) (hq : i ∉ que m)
    (hnj : ∀ j ∈ m.jobs, j.owner ≠ i) (hr : m'.ready = m.ready) (hj : m'.jobs = m.jobs)
    (hqq : que m' = que m) {e' : Nat}
    (hp : ∃ st, m'.pools = [st] ∧ st.entries = [] ∧ st.used = e' + taken q m ∧ st.used ≤ 20000) :
    Struct q e' m' ∧ due q m' = due q m ∧ burden q m' = burden q m ∧ owed q m' = owed q m := by
  have hne : ∀ {l : List Nat} {k : Nat}, i ∉ l → k ∈ l → k ≠ i := fun h1 h2 h3 => h1 (h3 ▸ h2)
  have hl : ∀ k ∈ m.ready, left q m' k = left q m k := fun k hk => by
    simp [left, c.other k (hne hn hk)]
  have hw : work q m' = work q m := by
    unfold work
    rw [hr, hj, sumBy_congr fun k hk => by rw [hl k hk]]
  have ht : taken q m' = taken q m := by simp [taken, hr, hj]
  refine ⟨⟨by rw [c.size]; exact h.small, by rw [ht]; exact hp, ?_, ?_, ?_,
    by rw [hr]; exact h.readyOnce, by rw [hqq]; exact h.queueOnce, by rw [hj]; exact h.jobsOnce,
    by rw [c.dues]; exact h.dues, by rw [c.clock]; exact h.arrival⟩, ?_, ?_, ?_⟩
  · rw [hr]; exact fun k hk => (h.ready k hk).keep (c.other k (hne hn hk)) c.size
  · rw [hqq]; exact fun k hk => (h.queue k hk).keep (c.other k (hne hq hk)) c.size
  · rw [hj]; exact fun j hj => ⟨(h.jobs j hj).1.keep (c.other _ (hnj j hj)) c.size, (h.jobs j hj).2⟩
  · unfold due
    rw [hr, hj, hqq, sumBy_congr (f := fun i => m'.now + left q m' i)
      (g := fun i => m.now + left q m i) fun k hk => by simp [hl k hk, Machine.now, c.clock]]
    simp [Machine.now, c.clock]
  · simp [burden, hqq, hw]
  · simp [owed, hqq, hw]

/-! ## Admission -/

/-- The session with the least keys among some requests is one of least volume. -/
theorem leastKeys_least (is : List Nat) : ∀ b, (∀ k ∈ is, Brings q k (m.at_ k).attrs) →
    let r := leastKeys deployment m 0 [volE] b [((q.vol b : Nat) : Int)] is
    (r = b ∨ r ∈ is) ∧ q.vol r ≤ q.vol b ∧ ∀ k ∈ is, q.vol r ≤ q.vol k := by
  induction is with
  | nil => intro b _; simp [leastKeys]
  | cons i is ih =>
    intro b hb
    have hk : keysOf (m.sessEnv deployment i 0) [volE] = [((q.vol i : Nat) : Int)] := by
      simp only [keysOf]
      rw [key_vol (q := q) (i := i) (hb i (by simp))]
    have hrest : ∀ k ∈ is, Brings q k (m.at_ k).attrs := fun k hk => hb k (by simp [hk])
    unfold leastKeys
    simp only [hk, keysLt]
    by_cases hlt : ((q.vol i : Nat) : Int) < (q.vol b : Nat)
    · obtain ⟨h1, h2, h3⟩ := ih i hrest
      simp only [hlt, if_true]
      refine ⟨?_, by omega, ?_⟩
      · rcases h1 with h1 | h1
        · exact Or.inr (by rw [h1]; simp)
        · exact Or.inr (List.mem_cons_of_mem _ h1)
      · intro k hk
        rcases List.mem_cons.mp hk with rfl | hk
        · exact h2
        · exact h3 k hk
    · obtain ⟨h1, h2, h3⟩ := ih b hrest
      simp only [hlt, if_false, ite_self, Bool.false_eq_true]
      refine ⟨?_, h2, ?_⟩
      · rcases h1 with h1 | h1
        · exact Or.inl h1
        · exact Or.inr (List.mem_cons_of_mem _ h1)
      · intro k hk
        rcases List.mem_cons.mp hk with rfl | hk
        · omega
        · exact h3 k hk

/-- Who is next is a request of least volume among those that wait. -/
theorem selected_least (h : ∀ k ∈ que m, Queued q m k) :
    (selected deployment m 0 0 = none ∧ que m = []) ∨
      ∃ i, selected deployment m 0 0 = some i ∧ i ∈ que m ∧ ∀ k ∈ que m, q.vol i ≤ q.vol k := by
  unfold selected
  unfold que at *
  generalize (m.pool 0).queue = l at *
  cases l with
  | nil => exact Or.inl ⟨rfl, rfl⟩
  | cons i is =>
    right
    have hf := (h i (by simp)).front
    have hk : keysOf (m.sessEnv deployment i 0) [volE] = [((q.vol i : Nat) : Int)] := by
      simp only [keysOf]
      rw [key_vol (q := q) (i := i) (h i (by simp)).brings]
    simp only [pool_zero.2.2.1, hf, Bool.false_eq_true, if_false, hk]
    obtain ⟨h1, h2, h3⟩ := leastKeys_least (q := q) (m := m) is i
      fun k hk => (h k (by simp [hk])).brings
    refine ⟨_, rfl, ?_, ?_⟩
    · rcases h1 with h1 | h1
      · rw [h1]; simp
      · exact List.mem_cons_of_mem _ h1
    · intro k hk
      rcases List.mem_cons.mp hk with rfl | hk
      · exact h2
      · exact h3 k hk

/-- Nobody waits, or the request of least volume does not fit. -/
def Blocked (m : Machine) : Prop := que m = [] ∨ 17501 ≤ (m.pool 0).used

/-- One admission. -/
theorem Struct.admit (h : Struct q e m) (hi : i ∈ que m) (hleast : ∀ k ∈ que m, q.vol i ≤ q.vol k)
    (hfit : fits deployment m i 0 = true) :
    Struct q e (admit deployment m 0 i 0) ∧ Moves q m (admit deployment m 0 i 0) ∧
      (∀ k, k ∉ que m → (Serq.admit deployment m 0 i 0).at_ k = m.at_ k) ∧
      ∀ k, k ∈ que (Serq.admit deployment m 0 i 0) → k ∈ que m := by
  obtain ⟨st, hp, he, hu, hc⟩ := h.pool
  have hq := h.queue i hi
  have hfit' := (fits_iff hp hq).mp hfit
  obtain ⟨f, a, heq⟩ := admit_eq hp he hq hfit'
  rw [heq]
  generalize hM : ({ m with
    sess := _
    pools := [{ st with
      queue := removeOne i st.queue, used := st.used + q.peak i, holders := st.holders ++ [i] }]
    ready := m.ready ++ [i]
    nextAdm := a } : Machine) = M
  have c : Changed m M i := by rw [← hM]; exact .of rfl rfl rfl
  have ai : M.at_ i = { m.at_ i with
      attrs := Arr.put (m.at_ i).attrs 0 0, prog := body
      stack := .hold (holdOf q i) rest :: (m.at_ i).stack
      status := .ready, adm := m.nextAdm, front := false } := by
    rw [← hM]
    exact at_of (m := m) (f := fun s => { s with
      attrs := Arr.put s.attrs 0 0, prog := body, stack := .hold (holdOf q i) rest :: s.stack
      status := .ready, adm := m.nextAdm, front := false }) rfl hq.lt
  have hMp : M.pools = [{ st with
      queue := removeOne i st.queue, used := st.used + q.peak i, holders := st.holders ++ [i] }] := by
    rw [← hM]
  have hMr : M.ready = m.ready ++ [i] := by rw [← hM]
  have hMj : M.jobs = m.jobs := by rw [← hM]
  have hMo : M.obs = m.obs := by rw [← hM]
  have hqm : que m = st.queue := by simp [que, pool_of hp]
  have hqM : que M = removeOne i (que m) := by rw [hqm]; simp [que, pool_of hMp]
  have hperm : (que m).Perm (i :: que M) := by rw [hqM]; exact perm_removeOne hi
  have honce : (i :: que M).Nodup := nodup_perm hperm.symm h.queueOnce
  have hiM : i ∉ que M := (List.nodup_cons.mp honce).1
  have hmem : ∀ k ∈ que M, k ∈ que m := fun k hk => hperm.mem_iff.mpr (List.mem_cons_of_mem _ hk)
  have hir : i ∉ m.ready := fun h' => by
    have h1 := (h.ready i h').status
    rw [hq.status] at h1
    simp at h1
  have hij : ∀ j ∈ m.jobs, j.owner ≠ i := fun j hj h' => by
    have h1 := (h.jobs j hj).1.status
    rw [h', hq.status] at h1
    simp at h1
  have hne : ∀ {l : List Nat} {k : Nat}, i ∉ l → k ∈ l → k ≠ i := fun h1 h2 h3 => h1 (h3 ▸ h2)
  have hnow : M.now = m.now := by simp [Machine.now, c.clock]
  have hl : ∀ k ∈ m.ready, left q M k = left q m k := fun k hk => by
    simp [left, c.other k (hne hir hk)]
  have hli : left q M i = q.o i := by simp [left, ai, body]
  have hwork : work q M = work q m + q.peak i * q.o i := by
    unfold work
    rw [hMr, hMj, sumBy_append, sumBy_congr (l := m.ready) fun k hk => by rw [hl k hk]]
    simp only [sumBy, hli]
    omega
  have htaken : taken q M = taken q m + q.peak i := by
    unfold taken
    rw [hMr, hMj, sumBy_append]
    simp only [sumBy]
    omega
  have hS : Struct q e M := by
    refine ⟨by rw [c.size]; exact h.small, ⟨_, hMp, he, ?_, hfit'⟩, ?_, ?_, ?_, ?_, ?_, ?_, ?_, ?_⟩
    · simp only [htaken, hu]; omega
    · intro k hk
      rw [hMr] at hk
      rcases List.mem_append.mp hk with hk | hk
      · exact (h.ready k hk).keep (c.other k (hne hir hk)) c.size
      · rw [List.mem_singleton.mp hk]
        refine ⟨by rw [c.size]; exact hq.lt, by rw [ai], by rw [ai]; simp [hq.stack],
          Or.inl (by rw [ai]), ?_⟩
        rw [ai]
        exact hq.brings.put (by decide) (by decide)
    · intro k hk
      exact (h.queue k (hmem k hk)).keep (c.other k (hne hiM hk)) c.size
    · intro j hj
      rw [hMj] at hj
      exact ⟨(h.jobs j hj).1.keep (c.other _ (hij j hj)) c.size, (h.jobs j hj).2⟩
    · rw [hMr, List.nodup_append]
      refine ⟨h.readyOnce, by simp, ?_⟩
      intro x hx y hy
      rw [List.mem_singleton.mp hy]
      exact hne hir hx
    · exact (List.nodup_cons.mp honce).2
    · rw [hMj]; exact h.jobsOnce
    · rw [c.dues]; exact h.dues
    · rw [c.clock]; exact h.arrival
  have hmove : Moves q m M := by
    refine ⟨?_, ?_, by simp [total, values, hMo], by simp [values, hMo], ?_, ?_⟩
    · have e1 : sumBy (fun k => M.now + left q M k) m.ready =
          sumBy (fun k => m.now + left q m k) m.ready :=
        sumBy_congr fun k hk => by rw [hl k hk, hnow]
      have e2 := sumBy_perm (fun k => m.now + q.o k) hperm
      simp only [sumBy] at e2
      unfold due
      rw [hMr, hMj, sumBy_append, e1]
      simp only [sumBy, hli, hnow, total, values, hMo]
      omega
    · have e1 : ahead ((que m).map q.vol) =
          ahead ((que M).map q.vol) + ((que M).map q.vol).length * q.vol i := by
        rw [ahead_perm (hperm.map q.vol), List.map_cons]
        refine ahead_cons ?_
        intro x hx
        obtain ⟨k, hk, rfl⟩ := List.mem_map.mp hx
        exact hleast k (hmem k hk)
      have e2 : q.peak i * q.o i ≤ 2 * q.vol i := by
        have := peak_le_volume (q.s i) (q.o i)
        unfold Requests.peak Requests.vol
        omega
      unfold burden
      rw [hwork, e1, hperm.length_eq, List.length_cons, List.length_map]
      exact admission_move e2
    · have e1 := sumBy_perm (fun k => q.peak k * q.o k) hperm
      simp only [sumBy] at e1
      unfold owed
      rw [hwork]
      omega
    · intro x hx
      refine hx.change c (fun k hk _ => ?_) (fun k hk hne => ?_) (fun j hj => ?_) (fun _ _ h => h) ?_
      · rw [hMr]; exact List.mem_append_left _ hk
      · rcases List.mem_cons.mp (hperm.mem_iff.mp hk) with h' | h'
        · exact absurd h' hne
        · exact h'
      · rw [hMj]; exact ⟨j, hj, rfl⟩
      · refine Or.inr (Or.inl ?_)
        rw [hMr]; simp
  obtain ⟨s1, s2⟩ := hS.of_eq (m' := tally M f) rfl rfl rfl rfl rfl rfl rfl
  refine ⟨s1, hmove.trans s2, ?_, ?_⟩
  · intro k hk
    exact c.other k fun h' => hk (h' ▸ hi)
  · exact hmem

/-- Admission, until nobody waits or the next one does not fit. -/
theorem Struct.admitHeads (fuel : Nat) : ∀ m, Struct q e m →
    Struct q e (admitHeads deployment 0 fuel m) ∧ Moves q m (admitHeads deployment 0 fuel m) ∧
      (∀ k, k ∉ que m → (Serq.admitHeads deployment 0 fuel m).at_ k = m.at_ k) ∧
      ((Serq.admitHeads deployment 0 fuel m).outOfFuel = false →
        Blocked (Serq.admitHeads deployment 0 fuel m)) := by
  induction fuel with
  | zero =>
    intro m h
    unfold Serq.admitHeads
    obtain ⟨s1, s2⟩ := h.of_eq (m' := { m with outOfFuel := true }) rfl rfl rfl rfl rfl rfl rfl
    exact ⟨s1, s2, fun _ _ => rfl, fun h' => by simp at h'⟩
  | succ fuel ih =>
    intro m h
    unfold Serq.admitHeads
    rcases selected_least h.queue with ⟨h1, h2⟩ | ⟨i, h1, h2, h3⟩
    · simp only [h1]
      exact ⟨h, Moves.refl q m, fun _ _ => trivial, fun _ => Or.inl h2⟩
    · simp only [h1]
      split
      · next hfit =>
        obtain ⟨s1, s2, s3, s4⟩ := h.admit h2 h3 hfit
        obtain ⟨t1, t2, t3, t4⟩ := ih _ s1
        refine ⟨t1, s2.trans t2, ?_, t4⟩
        intro k hk
        rw [t3 k fun h' => hk (s4 k h'), s3 k hk]
      · next hfit =>
        obtain ⟨st, hp, _, _, _⟩ := h.pool
        refine ⟨h, Moves.refl q m, fun _ _ => rfl, fun _ => Or.inr ?_⟩
        have h4 : ¬ st.used + q.peak i ≤ 20000 := fun h' => hfit ((fits_iff hp (h.queue i h2)).mpr h')
        have h5 := (h.small i (h.queue i h2).lt).1
        rw [pool_of hp]
        omega

end Serq.Papers.KongSvf
