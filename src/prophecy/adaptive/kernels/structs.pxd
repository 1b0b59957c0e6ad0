# Made by tools/structs.py from the dtypes of the records; do not edit.

cdef struct Record:
    long long hold
    long long count
    long long gap
    long long known
    double spacing
    long long learned
    double last
    double change
    double mean
    double lag[32]
    double feature[115]
    double alternation[2]
    double prediction[119]
    double weight[119]
    double scale[119]
    double peak[119]
    double last_peak[119]
    double error_scale
    double error_peak
    double last_error_peak
    double quantile[11]
    double tail
    double bias[115]
    double squared_bias[115]
    double factor[680]
    double growth[4]
    double readout[4][16]
    double power[4]
    double usual[4]
    long long begun[4]
    long long pause[4]
    double drift[10][8]
    double alternation_drift[2]
    long long same
    long long longest
    long long rests
    double tick
    long long tick_hits
    long long tick_misses
    long long stamps
    double stamp_error[3]
    long long gap_seen[13]
    double gap_error[13]
    double shrink_ahead[2]
    double shrink_weight[2]
    double shrink_scale[2]
    double shrink_peak[2]
    double shrink_last_peak[2]
    double shrink_sums[2]
    double season_periods[2]
    double season_strength[2]
    long long season_check
    long long season_on
    long long season_rest
    long long season_rests
    long long season_seen
    long long season_mixed
    long long season_since
    double season_moves
    double season_alone
    double season_power
    double season_features[24]
    double season_weights[3][24]
    double season_factor[880]
    double season_growth[3]
    double season_size[3]
    double season_errors[3]
    double season_ahead[6]
    double season_mix[6]
    double season_scales[6]
    double season_peak[6]
    double season_last_peak[6]
    double season_sums[2]
    long long season_filled[128]
    long long season_blocks
    double season_means[512]
    double alarm
    long long alarm_seen
    double alarm_error
    long long alarm_exact
    double alarm_log[80]
    double alarm_sums[2]
    long long alarm_other
    double alarm_quantity[8]
    double alarm_tail[5]
    long long alarm_size[8]
    double alarm_middle[8][48]
    double alarm_weight[8][48]
    long long alarm_records[8][2]
    double alarm_before
    double alarm_change
    double alarm_square
    double alarm_drift
    double alarm_origin
    double alarm_block[16]
    long long alarm_place
    long long alarm_left

cdef struct Clock:
    long long count
    long long given
    long long irregular
    long long late
    long long coarse
    long long odd
    long long jumps
    double dt
    double last
    double grid
    double off
    double jump
    double found
    double start
    double before
    double unit
    double fitted
    double mean_offset
    double mean_square
    double recent[128]

cdef struct Samples:
    double value[128]
    double newest
    double known
    long long seen
    double fit[7]
    double carry[3]
    double alarm

cdef struct SeasonsSettings:
    long long first_check
    double check_growth
    long long check_every
    long long first_long
    double cut
    double least
    double least_of_values
    double white_deviations
    double bartlett_deviations
    double alone
    double certain
    double lasting
    long long multiples
    double nearly
    double inside
    double partly
    double decayed
    double by_values
    double unsure
    double full
    double enough
    double remains
    long long most_days
    long long least_pairs
    long long most_parts
    double same
    long long stretches

cdef struct LinesSettings:
    double faint
    double noisy
    double tolerance
    double loosest
    double clean
    double base
    long long agreeing
    long long many
    long long folded
    long long strongest
    double denser
    long long most_times
    double near
    double ring
    double ring_ends
    double far
    double farthest
    double beside
    double comparable
    double slow
    double pedestal
    double above

cdef struct SeasonalSettings:
    long long averaged
    double memory[3]
    double prior[6]
    double first[6]
    double prior_power
    double bound
    long long tidy
    double power_over
    double robust
    double usual_rate
    long long replayed
    long long replayed_mixture
    double sloped
    double needless
    double useless
    double useful
    double changed
    double other

cdef struct AlarmsSettings:
    long long window
    long long needed
    double sure
    double millionth
    double always
    double mending
    double floor
    double quiet
    double quiet_share
    double rise
    double rise_middle
    double rise_far
    double alone
    double noticed
    long long drifting
    double certain
    double fewest
    double walking
    double improbable
    double often
    double familiar
    double apart
    double repeating
    double unpredictable
    double piled
    long long outermost

cdef struct ClockSettings:
    double off
    double irregular
    double regular
    double close
    double rounding
    long long late
    long long longest_hole
    long long check_every
    long long first_checks
    long long fitted_over
    double steady
    double drifted
    double rounded
    double most_rounded
    long long each
    double skipped
    double changed
    long long fewest
    double regular_again
    double off_over
    long long parts

cdef struct StampsSettings:
    double better
    long long over
    long long smooth
    double exactly
    long long sure

cdef struct IrregularSettings:
    double hole
    double hole_in_grid
    double apart
    double smoother
    double preferred
    long long over
    long long settled
    long long path_degree
    long long longest_replayed

cdef struct FarSettings:
    double allowed
    double share
    double slow[2]
    long long profile
    long long first
    long long solved_every
    double forgetting[2]
    double ridges[4]
    double discount
    double sharpness
    double handicap
    long long rolled
    double alike
    double stands_out
    double nearly
    double longer
    double better

cdef struct Table:
    double short[1536]
    double long[1280]
    double steady[10][8]
    double prior[119]
    double gain[115]
    double averaging[115]
    double bias_rate[115]
    double short_slope[32][45]
    double long_slope[10][8][7]
    double slope_gain[115]
    double slope_bias[115]
    double slope_left[115]
    double forgetting[4]
    double needed[4]
    double start[4][16]
    double raise_by[11]
    double lower_by[11]
    double normal[11]
    long long longest[4]
    long long traces[4]
    long long sloped[115]
    unsigned long long reach[6]
    unsigned long long block_of[10]
    unsigned long long index[4][16]
    unsigned long long used[4]
    unsigned long long stride[4]
    unsigned long long place[4]
    double discount
    double share
    long long settle
    long long block
    double ceiling
    double season_ceiling
    double shrink_discount
    double shrink_prior[2]
    double prior_solved
    double alternating[2]
    double rounding
    double smallest
    double solved_memory[4]
    double equations
    double prior_power
    double bound
    double farthest
    double surprising
    long long usual_over
    long long tidy
    double slowest_mean
    double rate
    double first_rate
    double first_errors
    double seen_beyond
    double excess_allowed
    double tail
    long long tail_over
    double steepest
    double few
    double lowest
    double highest
    double surest
    double decade
    double error_rounding
    double plain
    double unsure
    double fastest_bias
    double patience
    long long spacings
    double gap_fades
    double gap_few
    long long gap_settled
    double gap_sparse
    double gap_reach
    double gap_at_once
    double gap_speed
    double gap_near
    double gap_few_known
    long long stuck
    long long ticks_certain
    double tick_tolerance
    SeasonsSettings seasons
    LinesSettings lines
    SeasonalSettings seasonal
    AlarmsSettings alarms
    ClockSettings clock
    StampsSettings stamps
    IrregularSettings irregular
    FarSettings far
